#include "security/undumpable.h"

#include <sys/prctl.h>

#include "common/check.h"

namespace accel::security {

void BecomeUndumpable() {
  ACCEL_CHECK(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0, "every kernel has this, for every process");
}

}  // namespace accel::security
