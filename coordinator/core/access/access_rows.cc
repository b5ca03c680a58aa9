#include "coordinator/core/access/access_rows.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"

namespace accel::coordinator {
namespace {

constexpr char kCredential[] = "credential/";
constexpr char kToken[] = "token/";

std::string Prefix(v1::MemberKind kind) {
  return kind == v1::NODE_MEMBER ? "member/node/" : "member/user/";
}

template <typename Map, typename Id>
void AddRow(const std::string& key, const Map& map, const Id& id, RowBatch* batch) {
  const auto found = map.find(id);
  if (found == map.end()) return batch->erase.push_back(key);
  batch->put.push_back({key, found->second.SerializeAsString()});
}

template <typename Message>
absl::StatusOr<Message> Parse(const Row& row) {
  Message message;
  if (message.ParseFromString(row.value)) return message;
  return absl::DataLossError(
      absl::StrCat("row ", row.key, " is damaged: it is no message of its kind"));
}

absl::Status Misplaced(const Row& row) {
  return absl::DataLossError(
      absl::StrCat("row ", row.key, " is damaged: its value has another id"));
}

}  // namespace

void AddAccessRows(const AccessState& state, const AccessChanges& changes, RowBatch* batch) {
  for (const MemberId& id : changes.members) {
    AddRow(absl::StrCat(Prefix(id.first), id.second), state.members, id, batch);
  }
  for (const std::string& serial : changes.credentials) {
    AddRow(absl::StrCat(kCredential, serial), state.credentials, serial, batch);
  }
  for (const std::string& id : changes.tokens) {
    AddRow(absl::StrCat(kToken, id), state.tokens, id, batch);
  }
}

absl::StatusOr<bool> TakeAccessRow(const Row& row, AccessState* state) {
  absl::string_view id = row.key;
  if (absl::ConsumePrefix(&id, kCredential)) {
    ACCEL_ASSIGN_OR_RETURN(auto credential, Parse<v1::Credential>(row));
    if (credential.serial() != id) return Misplaced(row);
    state->credentials[std::string(id)] = std::move(credential);
    return true;
  }
  if (absl::ConsumePrefix(&id, kToken)) {
    ACCEL_ASSIGN_OR_RETURN(auto token, Parse<v1::Token>(row));
    if (token.id() != id) return Misplaced(row);
    state->tokens[std::string(id)] = std::move(token);
    return true;
  }
  for (const v1::MemberKind kind : {v1::NODE_MEMBER, v1::USER_MEMBER}) {
    if (!absl::ConsumePrefix(&id, Prefix(kind))) continue;
    ACCEL_ASSIGN_OR_RETURN(auto member, Parse<v1::Member>(row));
    if (member.id() != id || member.kind() != kind) return Misplaced(row);
    state->members[{kind, std::string(id)}] = std::move(member);
    return true;
  }
  return false;
}

}  // namespace accel::coordinator
