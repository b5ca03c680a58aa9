// Admission and credentials together, because each test needs both.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"
#include "coordinator/core/access/access_rows.h"
#include "coordinator/core/access/admission.h"
#include "coordinator/core/access/credentials.h"
#include "coordinator/core/access/members.h"

namespace accel::coordinator {
namespace {

using ::accel::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using enum absl::StatusCode;

// Each test ends with the comparison of the state with what its rows say (TearDown).
class AccessTest : public ::testing::Test {
 protected:
  void TearDown() override {
    RowBatch batch;
    AddAccessRows(state_, changes_, &batch);
    AccessState read;
    for (const Row& row : batch.put) {
      const auto taken = TakeAccessRow(row, &read);
      ASSERT_OK(taken);
      EXPECT_TRUE(*taken);
    }
    EXPECT_EQ(Text(read), Text(state_));
  }

  static std::string Text(const AccessState& state) {
    std::string text;
    for (const auto& [id, member] : state.members) absl::StrAppend(&text, member.DebugString());
    for (const auto& [id, each] : state.credentials) absl::StrAppend(&text, each.DebugString());
    for (const auto& [id, token] : state.tokens) absl::StrAppend(&text, token.DebugString());
    return text;
  }

  static v1::AddTokenRequest Request(v1::MemberKind kind, const std::string& member = "") {
    v1::AddTokenRequest request;
    request.set_kind(kind);
    request.set_member(member);
    request.set_role(v1::USER_ROLE);
    request.set_ttl_s(900);
    request.set_uses(1);
    return request;
  }

  absl::Status Add(const v1::AddTokenRequest& request, const std::string& id = "t1") {
    return AddToken(request, id, "hash of " + id, wall_, &state_, &changes_);
  }

  static Newcomer Node(const std::string& id = "4af1", const std::string& name = "n7") {
    return {v1::NODE_MEMBER, "t1", "hash of t1", "key of " + id, id, name, name};
  }

  absl::StatusOr<v1::Credential> Enter(const Newcomer& newcomer) {
    return Admit(
        newcomer, wall_, [this](const std::string& member) { return Make(member); }, &state_,
        &changes_);
  }

  absl::StatusOr<v1::Credential> Again(const std::string& serial, const std::string& key) {
    return Renew(
        serial, key, wall_, [this](const std::string& member) { return Make(member); }, &state_,
        &changes_);
  }

  absl::StatusOr<v1::Credential> Make(const std::string& member) {
    v1::Credential made;
    made.set_serial(absl::StrCat("serial-", ++made_));
    made.set_certificate("certificate of " + member);
    made.set_expires_unix_ms(absl::ToUnixMillis(wall_ + absl::Hours(24 * 365)));
    return made;
  }

  absl::StatusOr<v1::RevokeResponse> RevokeAll(v1::MemberKind kind, const std::string& member,
                                               const std::string& serial = "") {
    v1::RevokeRequest request;
    request.set_kind(kind);
    request.set_member(member);
    request.set_serial(serial);
    return Revoke(request, wall_, &state_, &changes_);
  }

  std::string Why(const std::string& serial) {
    return WhyRefused(state_.credentials.at(serial), wall_);
  }

  absl::Time wall_ = absl::FromUnixSeconds(1'800'000'000);
  AccessState state_;
  AccessChanges changes_;
  int made_ = 0;
};

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

TEST_F(AccessTest, ARevokedNodeComesBackOnlyAfterItsRemoval) {
  v1::AddTokenRequest request = Request(v1::NODE_MEMBER);
  request.set_uses(5);
  ASSERT_OK(Add(request));
  ASSERT_OK_AND_ASSIGN(const v1::Credential made, Enter(Node()));
  changes_ = {};
  ASSERT_OK_AND_ASSIGN(const v1::RevokeResponse revoked, RevokeAll(v1::NODE_MEMBER, "n7"));
  EXPECT_EQ(revoked.revoked(), 1);
  // The key was for any node, and the thief may have it.
  EXPECT_THAT(revoked.tokens(), ElementsAre("t1"));
  EXPECT_THAT(Enter(Node("ffff", "n8")).status(), StatusIs(kUnauthenticated, HasSubstr("key")));
  EXPECT_THAT(LostNodes(state_, changes_, wall_), ElementsAre("4af1"));
  EXPECT_THAT(Why(made.serial()), HasSubstr("was revoked"));
  ASSERT_OK(Add(Request(v1::NODE_MEMBER), "t2"));
  Newcomer back = Node();
  back.token_id = "t2";
  back.secret_hash = "hash of t2";
  EXPECT_THAT(Enter(back).status(), StatusIs(kAlreadyExists, HasSubstr("node remove")));
  ASSERT_OK(RemoveMember(v1::NODE_MEMBER, "n7", wall_, &state_, &changes_));
  EXPECT_TRUE(state_.credentials.empty());
  EXPECT_THAT(LostNodes(state_, changes_, wall_), ElementsAre("4af1"));
  EXPECT_OK(Enter(back));
  EXPECT_THAT(LostNodes(state_, changes_, wall_), IsEmpty());
}

TEST_F(AccessTest, ARevokedUserLosesItsKeysToo) {
  ASSERT_OK(Add(Request(v1::USER_MEMBER, "ann"), "t1"));
  ASSERT_OK(Add(Request(v1::USER_MEMBER, "ann"), "t2"));
  ASSERT_OK(Add(Request(v1::USER_MEMBER, "bob"), "t3"));
  Newcomer laptop = {v1::USER_MEMBER, "t1", "hash of t1", "key", "", "", "laptop"};
  ASSERT_OK_AND_ASSIGN(const v1::Credential one, Enter(laptop));
  laptop.key_hash = "other key";
  ASSERT_OK_AND_ASSIGN(const v1::RevokeResponse revoked, RevokeAll(v1::USER_MEMBER, "ann"));
  EXPECT_EQ(revoked.revoked(), 1);
  EXPECT_THAT(revoked.tokens(), ElementsAre("t2"));  // The other one is used up.
  EXPECT_EQ(state_.tokens.size(), 1u);
  EXPECT_THAT(RevokeAll(v1::USER_MEMBER, "cid").status(),
              StatusIs(kNotFound, HasSubstr("no user cid")));
}

TEST_F(AccessTest, OneLaptopOfAUserIsRevoked) {
  v1::AddTokenRequest request = Request(v1::USER_MEMBER, "ann");
  request.set_uses(-1);
  ASSERT_OK(Add(request));
  Newcomer laptop = {v1::USER_MEMBER, "t1", "hash of t1", "key", "", "", "laptop"};
  ASSERT_OK_AND_ASSIGN(const v1::Credential one, Enter(laptop));
  laptop.key_hash = "other key";
  ASSERT_OK_AND_ASSIGN(const v1::Credential two, Enter(laptop));
  ASSERT_OK(RevokeAll(v1::USER_MEMBER, "ann", one.serial()));
  EXPECT_THAT(Why(one.serial()), HasSubstr("revoked"));
  EXPECT_EQ(Why(two.serial()), "");
  // The stolen laptop comes back neither with the key of its certificate nor with another one.
  for (const char* key : {"key", "third key"}) {
    laptop.key_hash = key;
    EXPECT_THAT(Enter(laptop).status(), StatusIs(kUnauthenticated, HasSubstr("this key")));
  }
  EXPECT_THAT(RevokeAll(v1::USER_MEMBER, "ann", "none").status(),
              StatusIs(kNotFound, HasSubstr("no certificate none")));
}

TEST_F(AccessTest, ARenewedCredentialReplacesTheOldOneOnceItIsUsed) {
  ASSERT_OK(Add(Request(v1::NODE_MEMBER)));
  ASSERT_OK_AND_ASSIGN(const v1::Credential old, Enter(Node()));
  ASSERT_OK_AND_ASSIGN(const v1::Credential fresh, Again(old.serial(), "new key"));
  // The answer was lost.
  ASSERT_OK_AND_ASSIGN(const v1::Credential again, Again(old.serial(), "new key"));
  EXPECT_EQ(again.serial(), fresh.serial());
  NoteSeen(old.serial(), wall_, &state_, &changes_);
  EXPECT_EQ(Why(old.serial()), "");
  NoteSeen(fresh.serial(), wall_, &state_, &changes_);
  EXPECT_THAT(Why(old.serial()), HasSubstr("replaced by a newer one"));
  EXPECT_EQ(Why(fresh.serial()), "");
  EXPECT_THAT(Again(old.serial(), "third key").status(),
              StatusIs(kUnauthenticated, HasSubstr("replaced")));
}

TEST_F(AccessTest, UseIsNotedOnceAnHour) {
  ASSERT_OK(Add(Request(v1::NODE_MEMBER)));
  ASSERT_OK_AND_ASSIGN(const v1::Credential made, Enter(Node()));
  NoteSeen(made.serial(), wall_, &state_, &changes_);
  const AccessChanges before = changes_;
  changes_ = {};
  NoteSeen(made.serial(), wall_ + absl::Minutes(59), &state_, &changes_);
  EXPECT_TRUE(changes_.empty());
  NoteSeen(made.serial(), wall_ + absl::Minutes(61), &state_, &changes_);
  EXPECT_FALSE(changes_.empty());
  changes_.AddOlder(before);
}

TEST_F(AccessTest, ALostKeyIsRevokedByItsId) {
  v1::AddTokenRequest many = Request(v1::NODE_MEMBER);
  many.set_uses(5);
  ASSERT_OK(Add(many));
  ASSERT_OK_AND_ASSIGN(const v1::Credential made, Enter(Node()));
  v1::RevokeRequest request;
  request.set_token("t1");
  ASSERT_OK_AND_ASSIGN(const v1::RevokeResponse revoked,
                       Revoke(request, wall_, &state_, &changes_));
  EXPECT_THAT(revoked.tokens(), ElementsAre("t1"));
  EXPECT_EQ(Why(made.serial()), "");
  EXPECT_THAT(Enter(Node("ffff", "n8")).status(), StatusIs(kUnauthenticated, HasSubstr("key")));
  EXPECT_THAT(Revoke(request, wall_, &state_, &changes_).status(),
              StatusIs(kNotFound, HasSubstr("no key t1")));
}

TEST_F(AccessTest, ANodeThatJoinsAgainReplacesItself) {
  v1::AddTokenRequest request = Request(v1::NODE_MEMBER);
  ASSERT_OK(Add(request));
  ASSERT_OK_AND_ASSIGN(const v1::Credential old, Enter(Node()));
  ASSERT_OK(Add(request, "t2"));
  Newcomer again = Node();
  again.token_id = "t2";
  again.secret_hash = "hash of t2";
  ASSERT_OK_AND_ASSIGN(const v1::Credential made, Enter(again));
  EXPECT_EQ(Why(old.serial()), "");
  NoteSeen(made.serial(), wall_, &state_, &changes_);
  EXPECT_THAT(Why(old.serial()), HasSubstr("replaced"));
}

class CrowdTest : public AccessTest {
 protected:
  // Gives ci the maximum of certificates, from a key with this many uses each.
  void Fill(int64_t uses) {
    for (size_t i = 0; i < kMaxCredentialsOfMember; ++i) {
      const std::string id = uses == 1 ? absl::StrCat("t", i) : "many";
      if (uses == 1 || i == 0) {
        v1::AddTokenRequest request = Request(v1::USER_MEMBER, "ci");
        request.set_uses(uses);
        ASSERT_OK(Add(request, id));
      }
      ASSERT_OK(Login(id, absl::StrCat("key ", i)));
      wall_ += absl::Seconds(1);
    }
  }

  absl::StatusOr<v1::Credential> Login(const std::string& id, const std::string& key) {
    return Enter({v1::USER_MEMBER, id, "hash of " + id, key, "", "", "ci"});
  }
};

TEST_F(CrowdTest, TheLeastRecentlyUsedOfAManyUseKeyMakesRoom) {
  Fill(-1);
  NoteSeen("serial-1", wall_, &state_, &changes_);
  ASSERT_OK(Login("many", "another"));
  EXPECT_EQ(Why("serial-1"), "");
  EXPECT_THAT(Why("serial-2"), HasSubstr("has made room for a newer one"));
  // Never more are kept than twice the maximum, however many come.
  for (int i = 0; i < 200; ++i) ASSERT_OK(Login("many", absl::StrCat("more ", i)));
  EXPECT_LE(state_.credentials.size(), 2 * kMaxCredentialsOfMember);
  EXPECT_GE(state_.credentials.size(), 2 * kMaxCredentialsOfMember - 1);
}

TEST_F(CrowdTest, APersonsMachinesMakeNoRoom) {
  Fill(1);
  ASSERT_OK(Add(Request(v1::USER_MEMBER, "ci"), "more"));
  EXPECT_THAT(Login("more", "another").status(),
              StatusIs(kResourceExhausted, HasSubstr("accel user list")));
  EXPECT_EQ(state_.tokens.at("more").uses_left(), 1);
  ASSERT_OK(RevokeAll(v1::USER_MEMBER, "ci", "serial-1"));
  EXPECT_OK(Login("more", "another"));
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
