#include "weights/core/safetensors.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "common/checkpoint_error.h"
#include "weights/core/parse_json.h"
#include "weights/core/shown.h"

namespace accel::weights {
namespace {

using json = nlohmann::json;

struct DtypeFacts {
  std::string_view name;
  std::size_t size;
};
constexpr DtypeFacts kDtypes[] = {
    {"BOOL", 1}, {"U8", 1},  {"I8", 1},   {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"I16", 2},
    {"U16", 2},  {"F16", 2}, {"BF16", 2}, {"I32", 4},     {"U32", 4},     {"F32", 4},
    {"C64", 8},  {"F64", 8}, {"I64", 8},  {"U64", 8},
};

constexpr std::size_t kLengthBytes = 8;

[[noreturn]] void fail(const std::string& file, const std::string& what) {
  throw CheckpointError(file + ": " + what +
                        "; the file is torn or not a safetensors file: use another copy");
}

// nlohmann::json escapes the same characters as serde_json, which Python's safetensors uses. So the
// headers are equal byte for byte.
std::string quoted(const std::string& text) { return json(text).dump(); }

SafetensorsDtype dtype_named(const std::string& name, const std::string& tensor,
                             const std::string& file) {
  for (std::size_t i = 0; i < std::size(kDtypes); ++i) {
    if (kDtypes[i].name == name) return static_cast<SafetensorsDtype>(i);
  }
  throw CheckpointError(file + ": tensor " + shown(tensor) + " has dtype " + shown(name) +
                        ", which is not supported: convert it first");
}

// Returns byte_count() for a shape from a file. Throws if the result overflows 64 bits.
std::uint64_t checked_byte_count(const SafetensorsEntry& entry, const std::string& file) {
  std::uint64_t bytes = element_size(entry.dtype);
  bool overflow = false, empty = false;
  for (const std::int64_t size : entry.shape) {
    empty |= size == 0;
    overflow |= __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes);
  }
  if (empty) return 0;
  if (overflow) fail(file, "the shape of tensor " + shown(entry.name) + " overflows");
  return bytes;
}

std::uint64_t natural(const json& value, const std::string& file) {
  if (!value.is_number_unsigned() ||
      value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
    fail(file, "the header has " + shown(value.dump()) + " in place of a size");
  }
  return value.get<std::uint64_t>();
}

SafetensorsEntry parse_entry(const std::string& name, const json& value, const std::string& file) {
  const bool whole = value.is_object() && value.contains("dtype") && value["dtype"].is_string() &&
                     value.contains("shape") && value["shape"].is_array() &&
                     value.contains("data_offsets") && value["data_offsets"].is_array() &&
                     value["data_offsets"].size() == 2;
  if (!whole) fail(file, "the header's entry of tensor " + shown(name) + " is malformed");
  SafetensorsEntry entry{.name = name,
                         .dtype = dtype_named(value["dtype"].get<std::string>(), name, file),
                         .shape = {},
                         .begin = natural(value["data_offsets"][0], file),
                         .end = natural(value["data_offsets"][1], file)};
  for (const json& size : value["shape"]) {
    entry.shape.push_back(static_cast<std::int64_t>(natural(size, file)));
  }
  if (entry.end < entry.begin || entry.end - entry.begin != checked_byte_count(entry, file)) {
    fail(file, "the bytes of tensor " + shown(name) + " do not match its shape");
  }
  return entry;
}

}  // namespace

std::size_t element_size(SafetensorsDtype dtype) {
  return kDtypes[static_cast<std::size_t>(dtype)].size;
}

std::string_view name_of(SafetensorsDtype dtype) {
  return kDtypes[static_cast<std::size_t>(dtype)].name;
}

std::uint64_t byte_count(SafetensorsDtype dtype, const std::vector<std::int64_t>& shape) {
  std::uint64_t bytes = element_size(dtype);
  for (const std::int64_t size : shape) bytes *= static_cast<std::uint64_t>(size);
  return bytes;
}

const SafetensorsEntry* SafetensorsHeader::find(std::string_view name) const {
  const auto found =
      std::find_if(entries.begin(), entries.end(),
                   [&](const SafetensorsEntry& entry) { return entry.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

SafetensorsHeader lay_out(std::vector<SafetensorsEntry> entries,
                          std::map<std::string, std::string> metadata) {
  // The dtypes descend, the names ascend.
  std::sort(entries.begin(), entries.end(),
            [](const SafetensorsEntry& left, const SafetensorsEntry& right) {
              return std::tie(right.dtype, left.name) < std::tie(left.dtype, right.name);
            });
  std::uint64_t position = 0;
  for (SafetensorsEntry& entry : entries) {
    entry.begin = position;
    entry.end = position += byte_count(entry.dtype, entry.shape);
  }
  SafetensorsHeader header{.entries = std::move(entries),
                           .metadata = std::move(metadata),
                           .data_begin = 0,
                           .data_size = position};
  header.data_begin = header_bytes(header).size();
  return header;
}

std::string header_bytes(const SafetensorsHeader& header) {
  std::string text = "{";
  const auto key = [&](const std::string& name) {
    if (text.size() > 1) text += ',';
    text += quoted(name) + ':';
  };
  if (!header.metadata.empty()) {
    key("__metadata__");
    text += json(header.metadata).dump();
  }
  for (const SafetensorsEntry& entry : header.entries) {
    key(entry.name);
    text += "{\"dtype\":\"" + std::string(name_of(entry.dtype)) +
            "\",\"shape\":" + json(entry.shape).dump() + ",\"data_offsets\":[" +
            std::to_string(entry.begin) + "," + std::to_string(entry.end) + "]}";
  }
  text += '}';
  // Spaces fill the header up to a multiple of 8 bytes, so that the tensors are aligned.
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string length(kLengthBytes, '\0');
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length[i] = static_cast<char>(text.size() >> (8 * i));
  }
  return length + text;
}

std::uint64_t header_length(std::string_view first_bytes, std::uint64_t file_size,
                            const std::string& file) {
  if (first_bytes.size() < kLengthBytes || file_size < kLengthBytes) {
    fail(file, "it has only " + std::to_string(file_size) + " bytes");
  }
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length |= static_cast<std::uint64_t>(static_cast<unsigned char>(first_bytes[i])) << (8 * i);
  }
  if (length > kMaxSafetensorsHeader || length > file_size - kLengthBytes) {
    fail(file, "its header would have " + std::to_string(length) + " bytes, which is too many");
  }
  return length;
}

SafetensorsHeader parse_header(std::string_view text, std::uint64_t file_size,
                               const std::string& file) {
  const json root = parse_json(text);
  if (!root.is_object()) fail(file, "its header is not a JSON object");
  SafetensorsHeader header;
  header.data_begin = kLengthBytes + text.size();
  for (const auto& [name, value] : root.items()) {
    if (name != "__metadata__") {
      header.entries.push_back(parse_entry(name, value, file));
      continue;
    }
    for (const auto& [key, text_value] : value.items()) {
      if (!value.is_object() || !text_value.is_string()) fail(file, "its metadata is malformed");
      header.metadata[key] = text_value.get<std::string>();
    }
  }
  std::sort(header.entries.begin(), header.entries.end(),
            [](const SafetensorsEntry& left, const SafetensorsEntry& right) {
              return std::tie(left.begin, left.end) < std::tie(right.begin, right.end);
            });
  for (const SafetensorsEntry& entry : header.entries) {
    if (entry.begin != header.data_size) fail(file, "tensors overlap or leave a gap");
    header.data_size = entry.end;
  }
  if (header.data_begin + header.data_size != file_size) {
    fail(file, "it has " + std::to_string(file_size) + " bytes, but its header requires " +
                   std::to_string(header.data_begin + header.data_size));
  }
  return header;
}

}  // namespace accel::weights
