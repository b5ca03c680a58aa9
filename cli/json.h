// Messages as JSON for programs: the field names of the .proto files, no field left out.
#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace accel::cli {

// `pretty`: indented, several lines; otherwise one. The last line is not ended.
std::string ToJson(const google::protobuf::Message& message, bool pretty);

}  // namespace accel::cli
