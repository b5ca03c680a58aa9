// The file format of Hugging Face's safetensors: 8 bytes of header length (little-endian), a JSON
// header, then the tensors' bytes one after another.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace accel {

// In the order in which the format lays tensors out, last first: it keeps each one aligned.
enum class SafetensorsDtype {
  kBool,
  kU8,
  kI8,
  kF8E5M2,
  kF8E4M3,
  kI16,
  kU16,
  kF16,
  kBF16,
  kI32,
  kU32,
  kF32,
  kC64,
  kF64,
  kI64,
  kU64,
};

std::size_t element_size(SafetensorsDtype dtype);  // Bytes.
std::string_view name_of(SafetensorsDtype dtype);  // As in a header, such as "BF16".

struct SafetensorsEntry {
  std::string name;
  SafetensorsDtype dtype = SafetensorsDtype::kF32;
  std::vector<std::int64_t> shape;   // Empty: a scalar.
  std::uint64_t begin = 0, end = 0;  // Bytes, from the end of the header.

  friend bool operator==(const SafetensorsEntry&, const SafetensorsEntry&) = default;
};

// Bytes of a tensor of this dtype and shape.
std::uint64_t byte_count(SafetensorsDtype dtype, const std::vector<std::int64_t>& shape);

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // By position in the file.
  std::map<std::string, std::string> metadata;
  std::uint64_t data_begin = 0;  // Where in the file the first tensor begins.
  std::uint64_t data_size = 0;   // Bytes of all tensors.

  const SafetensorsEntry* find(std::string_view name) const;  // Null: no such tensor.
};

// The largest header that is read: the format's own limit.
inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;

// A layout of these tensors, as Python's safetensors makes it; `begin` and `end` are set.
SafetensorsHeader lay_out(std::vector<SafetensorsEntry> entries,
                          std::map<std::string, std::string> metadata = {{"format", "pt"}});

// The bytes that precede the tensors, length included; data_begin of them.
std::string header_bytes(const SafetensorsHeader& header);

// The JSON length that the first 8 bytes of a file of `file_size` bytes announce. `file` names it
// in errors. Throws CheckpointError if fewer bytes are there, the file is shorter than that, or the
// header is over the limit.
std::uint64_t header_length(std::string_view first_bytes, std::uint64_t file_size,
                            const std::string& file);

// Reads the JSON of a header. Throws CheckpointError if it is malformed, names a dtype that is not
// known, or if its tensors do not fill the rest of a file of `file_size` bytes exactly.
SafetensorsHeader parse_header(std::string_view json, std::uint64_t file_size,
                               const std::string& file);

}  // namespace accel
