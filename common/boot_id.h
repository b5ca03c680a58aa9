// The kernel's id of the present boot of this machine.
#pragma once

#include <string>

namespace accel::common {

// Returns the boot id, which tells a reboot from a restart of a process. Empty if the kernel does
// not say.
std::string BootId();

}  // namespace accel::common
