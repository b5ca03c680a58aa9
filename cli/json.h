// Prints protobuf messages as JSON for programs, with the field names of the .proto files, and the
// field schema_version first. Only messages that are not set are left out (docs/json.md).
#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace accel::cli {

// If `pretty`, indents the JSON over several lines; otherwise returns one line. There is no line
// feed at the end.
std::string ToJson(const google::protobuf::Message& message, bool pretty);

}  // namespace accel::cli
