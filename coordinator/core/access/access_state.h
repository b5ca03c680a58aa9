// The access state: the members of the cluster, their credentials, and the one-time keys for new
// members. Plain data. The rules for changing it are in admission.h, credentials.h and members.h.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "proto/access.pb.h"

namespace accel::coordinator {

// A member is named by its kind and its id.
using MemberId = std::pair<v1::MemberKind, std::string>;

struct AccessState {
  std::map<MemberId, v1::Member> members;
  std::map<std::string, v1::Credential> credentials;  // By serial.
  std::map<std::string, v1::Token> tokens;            // By id.
};

// The changes since the last commit, as keys of the maps above.
struct AccessChanges {
  std::set<MemberId> members;
  std::set<std::string> credentials;
  std::set<std::string> tokens;

  bool empty() const { return members.empty() && credentials.empty() && tokens.empty(); }
  void AddOlder(AccessChanges older) {
    members.merge(std::move(older.members));
    credentials.merge(std::move(older.credentials));
    tokens.merge(std::move(older.tokens));
  }
};

// Returns changes that name everything in the state.
inline AccessChanges EverythingOf(const AccessState& state) {
  AccessChanges all;
  for (const auto& [id, member] : state.members) all.members.insert(id);
  for (const auto& [serial, credential] : state.credentials) all.credentials.insert(serial);
  for (const auto& [id, token] : state.tokens) all.tokens.insert(id);
  return all;
}

}  // namespace accel::coordinator
