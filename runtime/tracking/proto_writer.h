// The part of protobuf's wire format that event files need. The runtime cannot link the protobuf
// library, because LibTorch exports its own copy of it (docs/decisions/0020).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace accel::runtime {

// Builds one message, field by field; the calls can be chained. Fields are numbered as in the
// .proto file.
class ProtoWriter {
 public:
  ProtoWriter& add_integer(int field, std::int64_t value);  // int32, int64, enum, bool
  ProtoWriter& add_float(int field, float value);
  ProtoWriter& add_double(int field, double value);
  // A string field. Bytes that are not UTF-8 are replaced by U+FFFD, because parsers reject them.
  ProtoWriter& add_text(int field, std::string_view text);
  // Fields of bytes and of nested messages.
  ProtoWriter& add_bytes(int field, std::string_view bytes);
  ProtoWriter& add_message(int field, const ProtoWriter& message) {
    return add_bytes(field, message.bytes());
  }

  const std::string& bytes() const { return bytes_; }

 private:
  void add_varint(std::uint64_t value);
  void add_tag(int field, int wire_type);

  std::string bytes_;
};

}  // namespace accel::runtime
