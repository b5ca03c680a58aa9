#include "runtime/checkpoint/archive_errors.h"

#include <c10/util/Exception.h>

#include <exception>

#include "accel/errors.h"

namespace accel::runtime {

void parse_archive(const std::filesystem::path& file, const std::function<void()>& parse) {
  try {
    use_archive(file, parse);
  } catch (const CheckpointError&) {
    throw;
  } catch (const std::exception& error) {
    throw CheckpointError(file.string() + ": it cannot be read as an archive: " + error.what());
  }
}

void use_archive(const std::filesystem::path& file, const std::function<void()>& use) {
  try {
    use();
  } catch (const c10::Error& error) {
    throw CheckpointError(file.string() +
                          ": it does not fit this program: " + error.what_without_backtrace());
  }
}

}  // namespace accel::runtime
