#include "cli/json_object.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/utf8.h"

namespace accel::cli {

std::string JsonString(absl::string_view text) {
  std::string json = "\"";
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text[0]);
    const size_t length = common::Utf8Length(text);
    if (text[0] == '"' || text[0] == '\\') {
      absl::StrAppend(&json, "\\", text.substr(0, 1));
    } else if (text[0] == '\n') {
      json += "\\n";
    } else if (byte < 0x20) {
      absl::StrAppend(&json, absl::StrFormat("\\u%04x", byte));
    } else if (length == 0) {
      json += "\xef\xbf\xbd";
    } else {
      absl::StrAppend(&json, text.substr(0, length));
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return json + "\"";
}

JsonObject JsonObject::Versioned() {
  JsonObject object;
  object.Number("schema_version", kJsonSchemaVersion);
  return object;
}

JsonObject& JsonObject::Text(absl::string_view name, absl::string_view value) {
  return Json(name, JsonString(value));
}

JsonObject& JsonObject::Number(absl::string_view name, uint64_t value) {
  return Json(name, absl::StrCat(value));
}

JsonObject& JsonObject::Bool(absl::string_view name, bool value) {
  return Json(name, value ? "true" : "false");
}

JsonObject& JsonObject::Texts(absl::string_view name, const std::vector<std::string>& values) {
  std::vector<std::string> texts;
  for (const std::string& value : values) texts.push_back(JsonString(value));
  return Json(name, absl::StrCat("[", absl::StrJoin(texts, ", "), "]"));
}

JsonObject& JsonObject::Json(absl::string_view name, absl::string_view json) {
  absl::StrAppend(&fields_, fields_.empty() ? "" : ", ", JsonString(name), ": ", json);
  return *this;
}

std::string JsonObject::Print() const { return absl::StrCat("{", fields_, "}"); }

}  // namespace accel::cli
