// The actions that `accel node` and `accel user` have in common.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/connection_flags.h"
#include "cli/console.h"
#include "proto/access.pb.h"

namespace accel::cli {

// Each function runs `accel KIND ACTION` and returns the exit code.
int RunMemberList(v1::MemberKind kind, const std::vector<std::string>& args,
                  const Console& console);
int RunMemberRevoke(v1::MemberKind kind, const std::vector<std::string>& args,
                    const Console& console);
int RunMemberRemove(v1::MemberKind kind, const std::vector<std::string>& args,
                    const Console& console);

// The flags of a new key, as text.
struct KeyFlags {
  std::string ttl = "15m";
  std::string uses = "1";
  std::string address;
};
void AddKeyFlags(FlagSet* flags, KeyFlags* to);

// Writes the flags into the request, sends it, and prints the key. Only the key is printed on
// standard output, so that it can be piped into `accel-agent join`. A sentence about the key is
// printed on standard error. Returns the exit code.
int PrintNewKey(const ConnectionFlags& connection, const KeyFlags& flags,
                v1::AddTokenRequest request, const Console& console);

}  // namespace accel::cli
