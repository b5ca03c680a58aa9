// Texts of expected exceptions, for tests.
#pragma once

#include <exception>
#include <string>
#include <utility>

namespace accel::runtime {

// Returns the text of the `Error` that `body` throws. Other exceptions are not caught.
template <typename Error = std::exception, typename Body>
std::string error_of(Body&& body) {
  try {
    std::forward<Body>(body)();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace accel::runtime
