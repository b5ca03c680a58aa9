#include "cli/json.h"

#include <google/protobuf/util/json_util.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "cli/json_object.h"
#include "common/check.h"

namespace accel::cli {

std::string ToJson(const google::protobuf::Message& message, bool pretty) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = pretty;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  const bool printed = google::protobuf::util::MessageToJsonString(message, &json, options).ok();
  ACCEL_CHECK(printed, "only an Any of an unknown type cannot be printed, and no message has one");
  absl::StripTrailingAsciiWhitespace(&json);
  const size_t first = json.find('"');  // The name of the first field. An empty message has none.
  std::string version = absl::StrCat("\"schema_version\":", pretty ? " " : "", kJsonSchemaVersion);
  if (first == std::string::npos) return absl::StrCat("{", version, "}");
  absl::StrAppend(&version, ",", pretty ? "\n " : "");
  return json.insert(first, version);
}

}  // namespace accel::cli
