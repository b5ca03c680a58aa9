// The encoding of the shim's messages: little-endian integers, and a length before
// each string and list.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace accel::shim {

class WireWriter {
 public:
  void U8(uint8_t value) { Integer(value, 1); }
  void U32(uint32_t value) { Integer(value, 4); }
  void I32(int32_t value) { Integer(static_cast<uint32_t>(value), 4); }
  void U64(uint64_t value) { Integer(value, 8); }
  void I64(int64_t value) { Integer(static_cast<uint64_t>(value), 8); }
  void Bool(bool value) { U8(value ? 1 : 0); }
  void String(absl::string_view value);
  void Strings(const std::vector<std::string>& values);
  // Writes the fields of a list's element as a record, which begins with its length.
  void Record(WireWriter fields) { String(fields.bytes_); }

  std::string Take() { return std::move(bytes_); }

 private:
  void Integer(uint64_t value, int size);

  std::string bytes_;
};

// Reads what a WireWriter wrote. Once a field is invalid or exceeds the remaining bytes, ok() is
// false, and all further fields read as zero or empty. Never allocates more bytes than remain.
class WireReader {
 public:
  explicit WireReader(absl::string_view bytes) : bytes_(bytes) {}

  uint8_t U8() { return static_cast<uint8_t>(Integer(1)); }
  uint32_t U32() { return static_cast<uint32_t>(Integer(4)); }
  int32_t I32() { return static_cast<int32_t>(Integer(4)); }
  uint64_t U64() { return Integer(8); }
  int64_t I64() { return static_cast<int64_t>(Integer(8)); }
  bool Bool();
  // Reads a text. Fails if it contains a NUL byte, because texts are passed to the kernel
  // as C strings.
  std::string String();
  std::vector<std::string> Strings();
  // Reads the length of a list whose elements take at least `least_bytes` each. Fails if
  // the remaining bytes cannot hold that many elements. A false length therefore causes
  // no large allocation.
  size_t Length(size_t least_bytes);

  // Reads a record. If its length is wrong, the result has no fields.
  WireReader Record();

  void Fail() { ok_ = false; }
  bool ok() const { return ok_; }
  // Returns true if the record has a further field. Must be called before each field that was
  // appended to a message later, because an older writer's record ends before that field.
  bool HasMore() const { return ok_ && !bytes_.empty(); }

 private:
  uint64_t Integer(size_t size);

  absl::string_view bytes_;
  bool ok_ = true;
};

}  // namespace accel::shim
