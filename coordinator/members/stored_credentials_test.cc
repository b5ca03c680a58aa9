// The table of credentials on its own: calls and changes that come before the callbacks.
#include "coordinator/members/stored_credentials.h"

#include <string>
#include <vector>

#include "common/status_matchers.h"

namespace accel::coordinator {
namespace {

using ::accel::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StoredCredentialsTest : public ::testing::Test {
 protected:
  StoredCredentialsTest() {
    v1::Member& node = state_.members[{v1::NODE_MEMBER, "4af1"}];
    node.set_kind(v1::NODE_MEMBER);
    node.set_id("4af1");
    for (const char* serial : {"a", "b", "c"}) {
      v1::Credential& credential = state_.credentials[serial];
      credential.set_serial(serial);
      credential.set_kind(v1::NODE_MEMBER);
      credential.set_member("4af1");
      credential.set_certificate(CertificateOf(serial));
      credential.set_expires_unix_ms(absl::ToUnixMillis(wall_ + absl::Hours(24)));
    }
    table_.Apply(state_, EverythingOf(state_));
  }

  static std::string CertificateOf(const std::string& serial) { return "certificate " + serial; }

  absl::Status Use(const std::string& serial) {
    return table_.Find(serial, CertificateOf(serial)).status();
  }

  void SetCallbacks() {
    table_.SetCallbacks(
        {.on_seen = [this](const std::string& serial) { seen_.push_back(serial); },
         .on_refused = [this](const std::string& serial) { refused_.push_back(serial); }});
  }

  absl::Time wall_ = absl::FromUnixSeconds(1'800'000'000);
  AccessState state_;
  StoredCredentials table_{[this] { return wall_; }};
  std::vector<std::string> seen_;
  std::vector<std::string> refused_;
};

TEST_F(StoredCredentialsTest, UseIsReportedOnceAnHour) {
  SetCallbacks();
  EXPECT_OK(Use("a"));
  EXPECT_OK(Use("a"));
  EXPECT_THAT(seen_, ElementsAre("a"));
  wall_ += absl::Hours(1);
  EXPECT_OK(Use("a"));
  EXPECT_THAT(seen_, ElementsAre("a", "a"));
}

TEST_F(StoredCredentialsTest, AUseBeforeTheCallbacksIsReportedOnceTheyAreSet) {
  EXPECT_OK(Use("a"));
  EXPECT_OK(Use("a"));
  SetCallbacks();
  EXPECT_THAT(seen_, ElementsAre("a"));
  EXPECT_OK(Use("a"));
  EXPECT_OK(Use("b"));
  EXPECT_THAT(seen_, ElementsAre("a", "b"));
}

TEST_F(StoredCredentialsTest, ARefusalBeforeTheCallbacksIsReportedOnceTheyAreSet) {
  EXPECT_OK(Use("a"));
  state_.credentials.at("a").set_state(v1::Credential::REVOKED);
  state_.credentials.erase("b");
  table_.Apply(state_, {.members = {}, .credentials = {"a", "b"}, .tokens = {}});
  EXPECT_THAT(Use("a"), StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("revoked")));
  SetCallbacks();
  EXPECT_THAT(refused_, ElementsAre("a", "b"));
  state_.credentials.at("c").set_state(v1::Credential::REPLACED);
  table_.Apply(state_, {.members = {}, .credentials = {"c"}, .tokens = {}});
  EXPECT_THAT(refused_, ElementsAre("a", "b", "c"));
}

TEST_F(StoredCredentialsTest, ValidCredentialsCauseNoRefusal) {
  SetCallbacks();
  table_.Apply(state_, EverythingOf(state_));
  EXPECT_THAT(refused_, IsEmpty());
}

}  // namespace
}  // namespace accel::coordinator
