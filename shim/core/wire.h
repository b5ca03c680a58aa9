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
  // Writes the fields of an element of a list as a record that has its own length.
  void Record(WireWriter fields) { String(fields.bytes_); }

  std::string Take() { return std::move(bytes_); }

 private:
  void Integer(uint64_t value, int size);

  std::string bytes_;
};

// Reads what a WireWriter wrote. After the first field that does not fit, everything reads as zero
// or empty, and ok() is false. Never reads beyond the end, and never allocates more than the number
// of bytes that are left.
class WireReader {
 public:
  explicit WireReader(absl::string_view bytes) : bytes_(bytes) {}

  uint8_t U8() { return static_cast<uint8_t>(Integer(1)); }
  uint32_t U32() { return static_cast<uint32_t>(Integer(4)); }
  int32_t I32() { return static_cast<int32_t>(Integer(4)); }
  uint64_t U64() { return Integer(8); }
  int64_t I64() { return static_cast<int64_t>(Integer(8)); }
  bool Bool();
  // Reads text for the kernel or for people. Fails if it contains a NUL byte.
  std::string String();
  std::vector<std::string> Strings();
  // Reads the length of a list whose elements take at least `least_bytes` each. Fails if the
  // remaining bytes cannot hold that many, so that no length is believed before allocating.
  size_t Length(size_t least_bytes);

  // Reads a record. If its length is wrong, nothing can be read from the result.
  WireReader Record();

  void Fail() { ok_ = false; }
  bool ok() const { return ok_; }
  // Returns true if the record has another field. Read before each field that was appended to a
  // message later, because the record of an older writer ends before it.
  bool HasMore() const { return ok_ && !bytes_.empty(); }

 private:
  uint64_t Integer(size_t size);

  absl::string_view bytes_;
  bool ok_ = true;
};

}  // namespace accel::shim
