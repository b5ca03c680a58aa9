// JSON for programs that is not made from a protobuf message. Pure. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace accel::cli {

// The version of all JSON that accel prints, in the field "schema_version" (docs/json.md). New
// fields do not change it. A field that is removed or gets another meaning does
// (docs/decisions/0059).
inline constexpr int kJsonSchemaVersion = 1;

// Returns `text` in quotes. Bytes that are not UTF-8 become U+FFFD.
std::string JsonString(absl::string_view text);

// An object whose fields keep their order.
class JsonObject {
 public:
  // Returns an object that begins with the field schema_version.
  static JsonObject Versioned();

  JsonObject& Text(absl::string_view name, absl::string_view value);
  JsonObject& Number(absl::string_view name, uint64_t value);
  JsonObject& Bool(absl::string_view name, bool value);
  JsonObject& Texts(absl::string_view name, const std::vector<std::string>& values);
  // Adds a value whose text is already JSON.
  JsonObject& Json(absl::string_view name, absl::string_view json);

  // Returns the object on one line, without a line feed.
  std::string Print() const;

 private:
  std::string fields_;
};

}  // namespace accel::cli
