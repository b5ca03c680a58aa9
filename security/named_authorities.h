// Reads which authorities a coordinator has named at the end of a call (security/rotation.h).
#pragma once

#include <grpcpp/support/string_ref.h>

#include <map>
#include <string>

#include "security/rotation.h"

namespace accel::security {

// Returns the name in the metadata at the end of a call that has ended. Empty if there is none.
inline std::string AuthoritiesNamedBy(
    const std::multimap<grpc::string_ref, grpc::string_ref>& metadata) {
  const auto found = metadata.find(kAuthoritiesKey);
  return found == metadata.end() ? std::string()
                                 : std::string(found->second.data(), found->second.size());
}

}  // namespace accel::security
