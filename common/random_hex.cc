#include "common/random_hex.h"

#include <sys/random.h>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"

namespace accel::common {

absl::StatusOr<std::string> RandomHex() {
  char bytes[8];
  if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes)) {
    return absl::InternalError("the kernel gave no random bytes");
  }
  return absl::BytesToHexString(absl::string_view(bytes, sizeof(bytes)));
}

}  // namespace accel::common
