// Configuration files of `accel launch`, in YAML and JSON. They are also those of Accelerate, so
// people pass them around.
#include "cli/config/core/config_file.h"
#include "cli/config/core/write_config.h"
#include "common/check.h"
#include "tests/fuzz/refusal.h"
#include "tests/fuzz/target.h"

namespace accel::cli {
namespace {

// Settings that were written are read back with the same values.
void CheckWritten(const char* name, const ConfigFile& file) {
  const std::string text = WriteConfig(name, file.settings);
  const auto again = ReadConfig(name, text);
  ACCEL_CHECK(again.ok(), "a written file can be read");
  ACCEL_CHECK(again->settings.size() == file.settings.size(), "no setting is lost");
  ACCEL_CHECK(WriteConfig(name, again->settings) == text, "no value changes");
}

}  // namespace

FUZZ_TARGET(bytes) {
  const auto file = ReadConfig("config.yaml", bytes);
  if (!file.ok()) return fuzz::CheckRefusal(file.status());
  for (const std::string& note : file->notes) fuzz::CheckMessage(note);
  CheckWritten("config.yaml", *file);
  CheckWritten("config.json", *file);
}

}  // namespace accel::cli
