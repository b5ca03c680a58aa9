// The kernel's id of the present boot of this machine.
#pragma once

#include <string>

namespace accel::common {

// Returns the boot id, by which a reboot can be distinguished from a restart of a process. Empty if
// the kernel does not provide it.
std::string BootId();

}  // namespace accel::common
