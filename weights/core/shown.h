// Text from files, in errors. Pure.
#pragma once

#include <string>
#include <string_view>

namespace accel::weights {

// Returns at most 128 bytes of a name or value of a file that may be hostile, so that an error can
// quote it. "..." stands for the rest. Bytes that are not UTF-8, and control characters of
// terminals, become \xNN.
std::string shown(std::string_view text);

}  // namespace accel::weights
