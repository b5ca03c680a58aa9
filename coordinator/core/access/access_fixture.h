// A fixture for tests of the access state: keys are added, newcomers enter, and credentials end.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"
#include "coordinator/core/access/access_rows.h"
#include "coordinator/core/access/admission.h"
#include "coordinator/core/access/credentials.h"
#include "coordinator/core/access/members.h"

namespace accel::coordinator {

// Compares the state with what its rows say at the end of each test (TearDown()).
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

}  // namespace accel::coordinator
