// Renders the members of a cluster for people. Pure. Text from outside is escaped.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "proto/access.pb.h"

namespace accel::cli {

// Renders one line per certificate, one line per member without a certificate, and then
// the unused keys.
std::string RenderMembers(const v1::ListMembersResponse& list, absl::Time now);

// Renders one line about the caller.
std::string RenderCaller(const v1::WhoAmIResponse& caller);

}  // namespace accel::cli
