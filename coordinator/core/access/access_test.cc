// Admission: keys are made and spent.
#include <string>

#include "coordinator/core/access/access_fixture.h"

namespace accel::coordinator {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;
using enum absl::StatusCode;

TEST_F(AccessTest, ANodeJoinsWithAKey) {
  ASSERT_OK(Add(Request(v1::NODE_MEMBER)));
  ASSERT_OK_AND_ASSIGN(const v1::Credential made, Enter(Node()));
  EXPECT_EQ(made.certificate(), "certificate of 4af1");
  EXPECT_EQ(made.label(), "n7");
  EXPECT_EQ(Why(made.serial()), "");
  const v1::Member& node = state_.members.at({v1::NODE_MEMBER, "4af1"});
  EXPECT_EQ(node.name(), "n7");
  EXPECT_EQ(state_.tokens.at("t1").uses_left(), 0);
}

TEST_F(AccessTest, AUsedKeyIsRefused) {
  ASSERT_OK(Add(Request(v1::NODE_MEMBER)));
  ASSERT_OK(Enter(Node()));
  EXPECT_THAT(Enter(Node("ffff", "n8")).status(),
              StatusIs(kPermissionDenied, HasSubstr("used up")));
}

TEST_F(AccessTest, ALostAnswerIsGivenAgainAndSpendsNothing) {
  v1::AddTokenRequest request = Request(v1::NODE_MEMBER);
  request.set_uses(2);
  ASSERT_OK(Add(request));
  ASSERT_OK_AND_ASSIGN(const v1::Credential first, Enter(Node()));
  ASSERT_OK_AND_ASSIGN(const v1::Credential again, Enter(Node()));
  EXPECT_EQ(again.DebugString(), first.DebugString());
  EXPECT_EQ(state_.tokens.at("t1").uses_left(), 1);
  EXPECT_EQ(made_, 1);
}

TEST_F(AccessTest, AnExpiredKeyIsRefused) {
  ASSERT_OK(Add(Request(v1::NODE_MEMBER)));
  wall_ += absl::Seconds(901);
  EXPECT_THAT(Enter(Node()).status(), StatusIs(kPermissionDenied, HasSubstr("expired")));
}

TEST_F(AccessTest, AKeyForANameIsForThatNodeOnly) {
  ASSERT_OK(Add(Request(v1::NODE_MEMBER, "n7")));
  EXPECT_THAT(Enter(Node("4af1", "n8")).status(),
              StatusIs(kPermissionDenied, HasSubstr("is for a node named n7")));
  EXPECT_OK(Enter(Node("4af1", "n7")));
}

TEST_F(AccessTest, UnknownTokensAndWrongSecretsLookAlike) {
  ASSERT_OK(Add(Request(v1::NODE_MEMBER)));
  Newcomer wrong = Node();
  wrong.secret_hash = "hash of t2";
  const absl::Status wrong_secret = Enter(wrong).status();
  wrong.token_id = "t2";
  EXPECT_EQ(Enter(wrong).status(), wrong_secret);
  EXPECT_THAT(wrong_secret, StatusIs(kUnauthenticated, HasSubstr("does not know this key")));
  EXPECT_EQ(state_.tokens.at("t1").uses_left(), 1);
}

TEST_F(AccessTest, AUsersKeyMakesNoNode) {
  ASSERT_OK(Add(Request(v1::USER_MEMBER, "ann")));
  EXPECT_THAT(Enter(Node()).status(), StatusIs(kPermissionDenied, HasSubstr("is a user's")));
}

TEST_F(AccessTest, AKeyForAnyNodeIsNoKeyForAnExistingOne) {
  v1::AddTokenRequest request = Request(v1::NODE_MEMBER);
  request.set_uses(5);
  ASSERT_OK(Add(request));
  ASSERT_OK(Enter(Node()));
  Newcomer thief = Node();
  thief.key_hash = "another key";
  EXPECT_THAT(Enter(thief).status(), StatusIs(kAlreadyExists, HasSubstr("node remove n7")));
  EXPECT_THAT(Enter(Node("ffff", "n7")).status(),
              StatusIs(kAlreadyExists, HasSubstr("another node named n7")));
}

TEST_F(AccessTest, ANodeJoinsAgainWithItsOwnKey) {
  ASSERT_OK(Add(Request(v1::NODE_MEMBER)));
  ASSERT_OK_AND_ASSIGN(const v1::Credential old, Enter(Node()));
  wall_ += absl::Hours(24 * 366);
  EXPECT_THAT(Why(old.serial()), HasSubstr("has expired"));
  ASSERT_OK(Add(Request(v1::NODE_MEMBER), "t2"));
  Newcomer node = Node();
  node.token_id = "t2";
  node.secret_hash = "hash of t2";
  ASSERT_OK_AND_ASSIGN(const v1::Credential made, Enter(node));
  EXPECT_EQ(Why(made.serial()), "");
}

TEST_F(AccessTest, TheLastAdministratorKeepsItsRole) {
  v1::AddTokenRequest ann = Request(v1::USER_MEMBER, "ann");
  ann.set_role(v1::ADMIN_ROLE);
  ASSERT_OK(Add(ann, "t1"));
  v1::AddTokenRequest demoted = Request(v1::USER_MEMBER, "ann");
  demoted.set_changes_role(true);
  EXPECT_THAT(Add(demoted, "t2"), StatusIs(kFailedPrecondition, HasSubstr("last administrator")));
  EXPECT_THAT(RemoveMember(v1::USER_MEMBER, "ann", wall_, &state_, &changes_),
              StatusIs(kFailedPrecondition, HasSubstr("last administrator")));
  // A stolen laptop must be revoked even so.
  EXPECT_OK(RevokeAll(v1::USER_MEMBER, "ann"));
  v1::AddTokenRequest bob = Request(v1::USER_MEMBER, "bob");
  bob.set_role(v1::ADMIN_ROLE);
  ASSERT_OK(Add(bob, "t3"));
  EXPECT_OK(Add(demoted, "t2"));
  EXPECT_EQ(state_.members.at({v1::USER_MEMBER, "ann"}).role(), v1::USER_ROLE);
}

TEST_F(AccessTest, ASecondKeyKeepsTheRole) {
  v1::AddTokenRequest ann = Request(v1::USER_MEMBER, "ann");
  ann.set_role(v1::VIEWER_ROLE);
  ASSERT_OK(Add(ann, "t1"));
  ASSERT_OK(Add(Request(v1::USER_MEMBER, "ann"), "t2"));
  EXPECT_EQ(state_.members.at({v1::USER_MEMBER, "ann"}).role(), v1::VIEWER_ROLE);
  EXPECT_EQ(state_.members.at({v1::USER_MEMBER, "ann"}).runs_as(), "ann");
  v1::AddTokenRequest as_root = Request(v1::USER_MEMBER, "eve");
  as_root.set_runs_as("root");
  EXPECT_TRUE(absl::IsInvalidArgument(Add(as_root)));
}

TEST_F(AccessTest, RequestsAreBounded) {
  const auto refuses = [this](v1::AddTokenRequest request, const char* why) {
    EXPECT_THAT(Add(request), StatusIs(kInvalidArgument, HasSubstr(why)));
  };
  refuses(Request(v1::USER_MEMBER, ""), "the name");
  refuses(Request(v1::NODE_MEMBER, "a/b"), "the name");
  v1::AddTokenRequest request = Request(v1::NODE_MEMBER);
  request.set_ttl_s(0);
  refuses(request, "1 second to 365 days");
  request.set_ttl_s(366 * 86'400);
  refuses(request, "1 second to 365 days");
  request = Request(v1::NODE_MEMBER);
  request.set_uses(0);
  refuses(request, "uses");
  EXPECT_TRUE(changes_.empty());
  for (size_t i = 0; i < kMaxTokens; ++i) {
    ASSERT_OK(Add(Request(v1::NODE_MEMBER), absl::StrCat("t", i)));
  }
  EXPECT_THAT(Add(Request(v1::NODE_MEMBER), "more"),
              StatusIs(kResourceExhausted, HasSubstr("which is the maximum")));
  wall_ += absl::Seconds(901);
  EXPECT_OK(Add(Request(v1::NODE_MEMBER), "more"));
  EXPECT_EQ(state_.tokens.size(), 1u);
}

TEST_F(AccessTest, DamagedRowsAreNamed) {
  AccessState read;
  EXPECT_THAT(TakeAccessRow({"token/t1", "\xff"}, &read).status(),
              StatusIs(kDataLoss, HasSubstr("token/t1")));
  v1::Credential credential;
  credential.set_serial("a");
  EXPECT_THAT(TakeAccessRow({"credential/b", credential.SerializeAsString()}, &read).status(),
              StatusIs(kDataLoss, HasSubstr("another id")));
  ASSERT_OK_AND_ASSIGN(const bool taken, TakeAccessRow({"node/a", ""}, &read));
  EXPECT_FALSE(taken);
}

}  // namespace
}  // namespace accel::coordinator
