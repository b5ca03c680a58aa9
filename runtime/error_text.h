#pragma once

#include <exception>
#include <string>

namespace accel::runtime {

// Return the text of an exception, without the backtrace that LibTorch's exceptions carry. For a
// null pointer, return an empty text.
std::string error_text(const std::exception& error);
std::string error_text(const std::exception_ptr& error);

// Call it in a handler. Rethrows the exception; a c10::Error itself loses its backtrace.
[[noreturn]] void rethrow_without_backtrace();

}  // namespace accel::runtime
