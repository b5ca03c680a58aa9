#include "runtime/tracking/proto_writer.h"

#include <bit>

#include "common/utf8.h"

namespace accel::runtime {
namespace {

enum WireType { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

template <typename Word>
void add_little_endian(std::string& bytes, Word word) {
  for (std::size_t i = 0; i < sizeof word; ++i) bytes.push_back(static_cast<char>(word >> (8 * i)));
}

}  // namespace

void ProtoWriter::add_varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
  bytes_.push_back(static_cast<char>(value));
}

void ProtoWriter::add_tag(int field, int wire_type) {
  add_varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire_type));
}

ProtoWriter& ProtoWriter::add_integer(int field, std::int64_t value) {
  add_tag(field, kVarint);
  add_varint(static_cast<std::uint64_t>(value));
  return *this;
}

ProtoWriter& ProtoWriter::add_float(int field, float value) {
  add_tag(field, kFixed32);
  add_little_endian(bytes_, std::bit_cast<std::uint32_t>(value));
  return *this;
}

ProtoWriter& ProtoWriter::add_double(int field, double value) {
  add_tag(field, kFixed64);
  add_little_endian(bytes_, std::bit_cast<std::uint64_t>(value));
  return *this;
}

ProtoWriter& ProtoWriter::add_text(int field, std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const std::size_t length = common::Utf8Length({text.data(), text.size()});
    valid += length == 0 ? "\xEF\xBF\xBD" : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return add_bytes(field, valid);
}

ProtoWriter& ProtoWriter::add_bytes(int field, std::string_view bytes) {
  add_tag(field, kLengthDelimited);
  add_varint(bytes.size());
  bytes_ += bytes;
  return *this;
}

}  // namespace accel::runtime
