// Texts of exceptions for error messages that cross processes or reach the user.
#pragma once

#include <exception>
#include <string>

namespace accel::runtime {

// Return the text of an exception, without the backtrace that LibTorch's exceptions carry. For a
// null pointer, return an empty text.
std::string error_text(const std::exception& error);
std::string error_text(const std::exception_ptr& error);

// Rethrows the current exception; call it in a handler. If it is exactly a c10::Error, its
// backtrace is removed.
[[noreturn]] void rethrow_without_backtrace();

}  // namespace accel::runtime
