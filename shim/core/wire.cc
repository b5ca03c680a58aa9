#include "shim/core/wire.h"

namespace accel::shim {

void WireWriter::Integer(uint64_t value, int size) {
  for (int i = 0; i < size; ++i) bytes_.push_back(static_cast<char>(value >> (8 * i)));
}

void WireWriter::String(absl::string_view value) {
  U32(static_cast<uint32_t>(value.size()));
  bytes_.append(value.data(), value.size());
}

void WireWriter::Strings(const std::vector<std::string>& values) {
  U32(static_cast<uint32_t>(values.size()));
  for (const std::string& value : values) String(value);
}

uint64_t WireReader::Integer(size_t size) {
  if (!ok_ || bytes_.size() < size) {
    ok_ = false;
    return 0;
  }
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) {
    value |= static_cast<uint64_t>(static_cast<uint8_t>(bytes_[i])) << (8 * i);
  }
  bytes_.remove_prefix(size);
  return value;
}

bool WireReader::Bool() {
  const uint8_t value = U8();
  if (value > 1) ok_ = false;
  return ok_ && value == 1;
}

size_t WireReader::Length(size_t least_bytes) {
  const size_t length = U32();
  if (length > bytes_.size() / least_bytes) ok_ = false;
  return ok_ ? length : 0;
}

WireReader WireReader::Record() {
  const size_t size = Length(1);
  WireReader record(bytes_.substr(0, size));
  record.ok_ = ok_;
  bytes_.remove_prefix(size);
  return record;
}

std::string WireReader::String() {
  const size_t size = Length(1);
  std::string value(bytes_.substr(0, size));
  bytes_.remove_prefix(size);
  if (value.find('\0') != std::string::npos) ok_ = false;
  return ok_ ? value : "";
}

std::vector<std::string> WireReader::Strings() {
  std::vector<std::string> values;
  const size_t count = Length(sizeof(uint32_t));
  for (size_t i = 0; i < count && ok_; ++i) values.push_back(String());
  return values;
}

}  // namespace accel::shim
