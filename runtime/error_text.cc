#include "runtime/error_text.h"

#include <c10/util/Exception.h>

namespace accel {

std::string error_text(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  return torch_error != nullptr ? torch_error->what_without_backtrace() : error.what();
}

std::string error_text(const std::exception_ptr& error) {
  if (error == nullptr) return "";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& thrown) {
    return error_text(thrown);
  } catch (...) {
    return "something that is no std::exception";
  }
}

}  // namespace accel
