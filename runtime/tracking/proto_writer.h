// Protocol buffers' wire format, as far as event files need it. LibTorch carries a protobuf library
// of its own, so that the runtime can have none.
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
  // string: what is not UTF-8, which no parser would take, becomes U+FFFD.
  ProtoWriter& add_text(int field, std::string_view text);
  // bytes, and messages inside.
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
