#pragma once

#include <exception>
#include <string>

namespace accel {

// What an exception says, without the backtrace that LibTorch's carry. Of none: nothing.
std::string error_text(const std::exception& error);
std::string error_text(const std::exception_ptr& error);

}  // namespace accel
