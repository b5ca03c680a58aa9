#include "common/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "common/utf8.h"

namespace accel::common {
namespace {

std::shared_ptr<spdlog::logger>& Logger() {
  static auto* const logger = new std::shared_ptr<spdlog::logger>([] {
    auto made = std::make_shared<spdlog::logger>("accel",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_level(spdlog::level::info);
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%e %L %n %v");
    return made;
  }());
  return *logger;
}

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

void AppendValue(std::string* line, absl::string_view value) {
  bool plain = !value.empty();
  for (unsigned char c : value) plain &= c > ' ' && c != '"' && c != '=' && c != '\\' && c < 127;
  if (plain) {
    line->append(value.data(), value.size());
    return;
  }
  line->push_back('"');
  while (!value.empty()) {
    const size_t length = ShownLength(value);
    if (length == 0) absl::StrAppend(line, "\\x", absl::Hex(value[0] & 0xFF, absl::kZeroPad2));
    if (value[0] == '"' || value[0] == '\\') line->push_back('\\');
    line->append(value.data(), length);
    value.remove_prefix(std::max<size_t>(length, 1));
  }
  line->push_back('"');
}

}  // namespace

void InitLog(absl::string_view program, LogLevel least) {
  auto named = Logger()->clone(std::string(program));
  named->set_level(ToSpdlog(least));
  Logger() = std::move(named);
}

void Log(LogLevel level, absl::string_view message, std::initializer_list<LogField> fields) {
  if (!Logger()->should_log(ToSpdlog(level))) return;
  std::string line(message);
  for (const LogField& field : fields) {
    absl::StrAppend(&line, " ", field.key, "=");
    AppendValue(&line, field.value);
  }
  Logger()->log(ToSpdlog(level), "{}", line);
}

}  // namespace accel::common
