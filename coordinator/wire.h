// Between the bytes that callers send and messages. Parsing makes bytes larger: an empty submessage
// has two bytes on the wire and a hundred in memory. So the elements of a message are counted
// before it is parsed.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstddef>

#include "absl/status/status.h"

namespace accel::coordinator {

// What a message of one kind may have.
struct WireBounds {
  size_t bytes;
  // Strings, submessages, unknown fields, and each eight bytes of a list of numbers.
  size_t elements;
};

// RESOURCE_EXHAUSTED: a bound is exceeded, with its value. INVALID_ARGUMENT: these bytes are no
// such message. The message is then empty.
absl::Status Parse(const grpc::ByteBuffer& bytes, const WireBounds& bounds,
                   google::protobuf::Message* message);

grpc::ByteBuffer ToBytes(const google::protobuf::Message& message);

}  // namespace accel::coordinator
