#pragma once

#include <exception>
#include <string>

namespace accel {

// What an exception says, without the backtrace that LibTorch's carry. Of none: nothing.
std::string error_text(const std::exception& error);
std::string error_text(const std::exception_ptr& error);

// In a handler: throws what it has caught, if that is a plain c10::Error without its backtrace.
[[noreturn]] void rethrow_without_backtrace();

}  // namespace accel
