// Writes structured logs to standard error. Thread-safe, except InitLog(). This header includes no
// logging library, so that files that include LibTorch, which has its own fmt, can log too.
#pragma once

#include <initializer_list>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace accel::common {

enum class LogLevel { kInfo, kWarning, kError };

// One `key=value` of a log line. A value is quoted if it needs to be.
struct LogField {
  LogField(absl::string_view name, const absl::AlphaNum& text) : key(name), value(text.Piece()) {}
  absl::string_view key;
  std::string value;
};

// Sets the program's name, which follows the time and level in each line, and the lowest level
// that is logged.
void InitLog(absl::string_view program, LogLevel least);

void Log(LogLevel level, absl::string_view message, std::initializer_list<LogField> fields = {});

inline void LogInfo(absl::string_view message, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kInfo, message, fields);
}
inline void LogWarning(absl::string_view message, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kWarning, message, fields);
}
inline void LogError(absl::string_view message, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kError, message, fields);
}

}  // namespace accel::common
