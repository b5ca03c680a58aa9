#include "runtime/error_text.h"

#include <c10/util/Exception.h>

#include <typeinfo>

namespace accel::runtime {

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
    return "an exception that is not a std::exception";
  }
}

// Classes that derive from c10::Error are rethrown unchanged, because a program may catch them by
// name, and a copy would be a plain c10::Error.
void rethrow_without_backtrace() {
  try {
    throw;
  } catch (const c10::Error& error) {
    if (typeid(error) != typeid(c10::Error)) throw;
    throw c10::Error(error.what_without_backtrace());
  }
}

}  // namespace accel::runtime
