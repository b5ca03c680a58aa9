#include "agent/find_shim.h"

#include "common/find_binary.h"

namespace accel::agent {

absl::StatusOr<std::string> FindShim(const std::string& flag) {
  return common::FindBinary({"accel-shim", "--shim", "ACCEL_SHIM", "shim"}, flag);
}

}  // namespace accel::agent
