// Credentials after they were issued: they are used, renewed, revoked and make room.
#include <string>
#include <vector>

#include "coordinator/core/access/access_fixture.h"

namespace accel::coordinator {
namespace {

using ::accel::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using enum absl::StatusCode;

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

TEST_F(AccessTest, UnusedRenewalsAreBounded) {
  ASSERT_OK(Add(Request(v1::NODE_MEMBER)));
  ASSERT_OK_AND_ASSIGN(const v1::Credential old, Enter(Node()));
  ASSERT_OK_AND_ASSIGN(const v1::Credential own, Again(old.serial(), "own key"));
  for (int i = 0; i < 3; ++i) ASSERT_OK(Again(old.serial(), absl::StrCat("key ", i)));
  // A thief with a copy cannot end the one that the holder has stored, however often it asks.
  for (int i = 3; i < 300; ++i) {
    EXPECT_THAT(Again(old.serial(), absl::StrCat("key ", i)).status(),
                StatusIs(kResourceExhausted, HasSubstr("accel node list")));
  }
  EXPECT_EQ(Why(own.serial()), "");
  EXPECT_EQ(state_.credentials.size(), 5u);
  // A lost answer is still repeated.
  ASSERT_OK_AND_ASSIGN(const v1::Credential again, Again(old.serial(), "own key"));
  EXPECT_EQ(again.serial(), own.serial());
  NoteSeen(own.serial(), wall_, &state_, &changes_);
  EXPECT_EQ(Why(own.serial()), "");
  EXPECT_OK(Again(own.serial(), "next key"));
}

TEST_F(AccessTest, RevokedRenewalsMakePlaceForOthers) {
  ASSERT_OK(Add(Request(v1::NODE_MEMBER)));
  ASSERT_OK_AND_ASSIGN(const v1::Credential old, Enter(Node()));
  ASSERT_OK_AND_ASSIGN(const v1::Credential first, Again(old.serial(), "key"));
  for (int i = 0; i < 3; ++i) ASSERT_OK(Again(old.serial(), absl::StrCat("key ", i)));
  EXPECT_FALSE(Again(old.serial(), "another").ok());
  ASSERT_OK(RevokeAll(v1::NODE_MEMBER, "n7", first.serial()));
  EXPECT_OK(Again(old.serial(), "another"));
}

TEST_F(AccessTest, TheFirstUseEndsAllOtherRenewals) {
  ASSERT_OK(Add(Request(v1::NODE_MEMBER)));
  ASSERT_OK_AND_ASSIGN(const v1::Credential old, Enter(Node()));
  ASSERT_OK_AND_ASSIGN(const v1::Credential stolen, Again(old.serial(), "a thief's key"));
  ASSERT_OK_AND_ASSIGN(const v1::Credential stolen_too, Again(stolen.serial(), "another"));
  ASSERT_OK_AND_ASSIGN(const v1::Credential own, Again(old.serial(), "own key"));
  ASSERT_OK_AND_ASSIGN(const v1::Credential next, Again(own.serial(), "next key"));
  const AccessChanges before = changes_;
  changes_ = {};
  NoteSeen(own.serial(), wall_, &state_, &changes_);
  for (const v1::Credential& each : {old, stolen, stolen_too}) {
    EXPECT_THAT(Why(each.serial()), HasSubstr("replaced by a newer one"));
    EXPECT_TRUE(changes_.credentials.contains(each.serial()));
  }
  EXPECT_EQ(Why(own.serial()), "");
  EXPECT_EQ(Why(next.serial()), "");
  changes_.AddOlder(before);
}

TEST_F(AccessTest, ANodeThatJoinsAgainEndsAllRenewals) {
  ASSERT_OK(Add(Request(v1::NODE_MEMBER)));
  ASSERT_OK_AND_ASSIGN(const v1::Credential old, Enter(Node()));
  std::vector<std::string> renewals;
  for (int i = 0; i < 4; ++i) {
    wall_ += absl::Seconds(1);
    ASSERT_OK_AND_ASSIGN(const v1::Credential made, Again(old.serial(), absl::StrCat("key ", i)));
    renewals.push_back(made.serial());
  }
  ASSERT_OK(Add(Request(v1::NODE_MEMBER), "t2"));
  Newcomer again = Node();
  again.token_id = "t2";
  again.secret_hash = "hash of t2";
  ASSERT_OK_AND_ASSIGN(const v1::Credential joined, Enter(again));
  NoteSeen(joined.serial(), wall_, &state_, &changes_);
  for (const std::string& each : renewals) EXPECT_THAT(Why(each), HasSubstr("replaced"));
  EXPECT_EQ(Why(joined.serial()), "");
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

TEST_F(CrowdTest, ACertificateThatCannotBeMadeChangesNothing) {
  Fill(-1);
  changes_ = {};
  const Newcomer newcomer = {v1::USER_MEMBER, "many", "hash of many", "another", "", "", "ci"};
  const auto fail = [](const std::string&) { return absl::InternalError("OpenSSL failed"); };
  EXPECT_THAT(Admit(newcomer, wall_, fail, &state_, &changes_).status(),
              StatusIs(kInternal, HasSubstr("OpenSSL failed")));
  EXPECT_EQ(Why("serial-1"), "");
  EXPECT_TRUE(changes_.empty());
  changes_ = EverythingOf(state_);  // For TearDown().
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

TEST_F(CrowdTest, EachOfTheMaximumOfMachinesCanRenew) {
  for (const int64_t uses : {1, -1}) {
    state_ = {};
    made_ = 0;
    Fill(uses);
    for (size_t i = 1; i <= kMaxCredentialsOfMember; ++i) {
      const std::string old = absl::StrCat("serial-", i);
      ASSERT_OK_AND_ASSIGN(const v1::Credential fresh, Again(old, absl::StrCat("renewed ", i)));
      // Nothing has ended before the new one is used.
      EXPECT_EQ(Why(old), "");
      NoteSeen(fresh.serial(), wall_, &state_, &changes_);
      EXPECT_EQ(Why(fresh.serial()), "");
    }
  }
}

}  // namespace
}  // namespace accel::coordinator
