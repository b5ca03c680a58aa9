// Structured logs on standard error. This header names no logging library, so that files which
// include LibTorch's headers (with an fmt of their own) can log too. Thread-safe.
#pragma once

#include <initializer_list>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace accel::common {

enum class LogLevel { kInfo, kWarning, kError };

// One `key=value` of a log line. Values are quoted where they need it.
struct LogField {
  LogField(absl::string_view name, const absl::AlphaNum& text) : key(name), value(text.Piece()) {}
  absl::string_view key;
  std::string value;
};

// Sets the program's name, which starts every line, and the least level that is written.
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
