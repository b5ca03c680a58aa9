// Reads the name of its authorities that a coordinator sends at the end of
// a call (security/rotation.h).
#pragma once

#include <grpcpp/support/string_ref.h>

#include <map>
#include <string>

#include "security/rotation.h"

namespace accel::security {

// Returns the name in the trailing metadata of a call. Empty if there is none.
inline std::string AuthoritiesNamedBy(
    const std::multimap<grpc::string_ref, grpc::string_ref>& metadata) {
  const auto found = metadata.find(kAuthoritiesKey);
  return found == metadata.end() ? std::string()
                                 : std::string(found->second.data(), found->second.size());
}

}  // namespace accel::security
