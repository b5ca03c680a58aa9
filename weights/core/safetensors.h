// The headers of safetensors files, the format of Hugging Face. A file has 8 bytes with the length
// of the header (little-endian), the header in JSON, and then the bytes of all tensors without
// gaps. Errors name the file by the parameter `file`.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace accel::weights {

// The dtypes, in ascending order of alignment. A file has the tensors of the last dtype first, so
// that each tensor is aligned.
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

// Returns the size of an element in bytes.
std::size_t element_size(SafetensorsDtype dtype);
// Returns the dtype's name in a header, such as "BF16".
std::string_view name_of(SafetensorsDtype dtype);

struct SafetensorsEntry {
  std::string name;
  SafetensorsDtype dtype = SafetensorsDtype::kF32;
  std::vector<std::int64_t> shape;   // Empty for a scalar.
  std::uint64_t begin = 0, end = 0;  // The tensor's bytes, counted from the end of the header.

  friend bool operator==(const SafetensorsEntry&, const SafetensorsEntry&) = default;
};

// Returns the size in bytes of a tensor of this dtype and shape. Does not check for overflow.
std::uint64_t byte_count(SafetensorsDtype dtype, const std::vector<std::int64_t>& shape);

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // In the order of their bytes in the file.
  std::map<std::string, std::string> metadata;
  std::uint64_t data_begin = 0;  // The position in the file of the first tensor.
  std::uint64_t data_size = 0;   // The size of all tensors in bytes.

  // Returns the tensor of this name, or null if there is none. Linear in the number of tensors.
  const SafetensorsEntry* find(std::string_view name) const;
};

// The largest header that is read, in bytes: the limit of the format's own library.
inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;

// Orders the tensors and sets their `begin` and `end` as Python's safetensors does, so that both
// write the same bytes.
SafetensorsHeader lay_out(std::vector<SafetensorsEntry> entries,
                          std::map<std::string, std::string> metadata = {{"format", "pt"}});

// Returns the first data_begin bytes of the file: the length and the header.
std::string header_bytes(const SafetensorsHeader& header);

// Returns the length of the JSON header, read from the first 8 bytes of a file of `file_size`
// bytes. Throws CheckpointError if there are fewer than 8 bytes, the header does not fit into the
// file, or it exceeds kMaxSafetensorsHeader.
std::uint64_t header_length(std::string_view first_bytes, std::uint64_t file_size,
                            const std::string& file);

// Reads a JSON header. Throws CheckpointError if the header is malformed or has an unknown dtype.
// Also throws it if its tensors overlap, leave gaps or do not fill the rest of a file of
// `file_size` bytes exactly.
SafetensorsHeader parse_header(std::string_view json, std::uint64_t file_size,
                               const std::string& file);

}  // namespace accel::weights
