// Converts between messages and the bytes that callers send. Parsing can multiply the size: an
// empty submessage has two bytes on the wire and a hundred in memory. The elements of a message are
// therefore counted and bounded before it is parsed.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "coordinator/core/desired.h"

namespace accel::coordinator {

// The maximum size of a message of one kind.
struct WireBounds {
  size_t bytes;
  // Maximum number of elements: strings, submessages, unknown fields, and each eight bytes of a
  // list of numbers.
  size_t elements;
};

// Parses `bytes` into *message. RESOURCE_EXHAUSTED: a bound is exceeded, which the error names, or
// there is no memory. INVALID_ARGUMENT: the bytes are not such a message. After an error,
// *message is empty.
absl::Status Parse(const grpc::ByteBuffer& bytes, const WireBounds& bounds,
                   google::protobuf::Message* message);
absl::Status Parse(absl::string_view bytes, const WireBounds& bounds,
                   google::protobuf::Message* message);

// Serializes the message.
grpc::ByteBuffer ToBytes(const google::protobuf::Message& message);
grpc::ByteBuffer ToBytes(const Desired& desired);

}  // namespace accel::coordinator
