// Files of weights, which people download.
#include <string_view>

#include "common/check.h"
#include "common/checkpoint_error.h"
#include "tests/fuzz/refusal.h"
#include "tests/fuzz/target.h"
#include "weights/core/safetensors.h"
#include "weights/core/saved_tensors.h"
#include "weights/core/shard_files.h"

namespace accel::weights {
namespace {

void CheckHeader(const SafetensorsHeader& header, std::uint64_t file_size) {
  std::uint64_t position = 0;
  for (const SafetensorsEntry& entry : header.entries) {
    ACCEL_CHECK(entry.begin == position && entry.end >= entry.begin, "tensors leave no gap");
    position = entry.end;
  }
  ACCEL_CHECK(header.data_begin + position == file_size, "tensors fill the file");
  const std::string bytes = header_bytes(header);
  const auto again = parse_header(std::string_view(bytes).substr(8), bytes.size() + position, "f");
  ACCEL_CHECK(header_bytes(again) == bytes, "a header survives its encoding");
}

// Reads the file as one of a sharded checkpoint.
void CheckShard(const SafetensorsHeader& header) {
  SavedTensors saved;
  saved.files = {"file"};
  add_shard_file(header, saved);
  check_complete(saved, "folder");
  for (const auto& [name, tensor] : saved.tensors) {
    std::uint64_t to = 0;
    for (const ByteRange& range : reads_for(tensor, whole(tensor.shape))) to += range.length;
    ACCEL_CHECK(to == byte_count(tensor.dtype, tensor.shape), "each byte is read once");
  }
}

void Check(std::string_view file, std::uint64_t file_size) {
  const std::uint64_t length = header_length(file, file_size, "file");
  const auto header = parse_header(file.substr(8, length), file_size, "file");
  CheckHeader(header, file_size);
  CheckShard(header);
}

}  // namespace

FUZZ_TARGET(bytes) {
  const std::string_view file(bytes.data(), bytes.size());
  // As it is, and as the beginning of a larger file.
  for (const std::uint64_t more : {0, 1 << 20}) {
    try {
      Check(file, file.size() + more);
    } catch (const CheckpointError& error) {
      fuzz::CheckMessage(error.what());
    }
  }
}

}  // namespace accel::weights
