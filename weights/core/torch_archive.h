// Finds the bytes of the tensor in an archive of torch.save(): a zip file that holds a pickle and
// the uncompressed data of each storage. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weights/core/box.h"
#include "weights/core/safetensors.h"

namespace accel::weights {

// A file in a zip archive.
struct ArchiveEntry {
  std::string name;          // Without the archive's own folder, such as "data.pkl".
  std::uint64_t header = 0;  // Position of its local header in the archive.
  std::uint64_t size = 0;    // In bytes.
};

// The end of an archive that is read to find its directory, in bytes.
inline constexpr std::uint64_t kArchiveTail = 1 << 16;

// Lists the files. `tail` is the end of an archive of `size` bytes, at most kArchiveTail of it.
// Throws CheckpointError, which names `file`, if it is not a zip archive without compression.
std::vector<ArchiveEntry> archive_entries(std::string_view tail, std::uint64_t size,
                                          const std::string& file);

// The size of a local header without its name, in bytes.
inline constexpr std::uint64_t kLocalHeader = 30;

// Returns the position at which the bytes of `entry` begin in an archive of `size` bytes. `header`
// are the kLocalHeader bytes at entry.header. Throws CheckpointError if the header is malformed, or
// if the bytes exceed the archive.
std::uint64_t data_begin(const ArchiveEntry& entry, std::string_view header, std::uint64_t size,
                         const std::string& file);

// A tensor in an archive.
struct ArchivedTensor {
  SafetensorsDtype dtype = SafetensorsDtype::kF32;
  Shape shape;
  std::string storage;      // The name of the entry with its bytes, such as "data/0".
  std::uint64_t begin = 0;  // Position of the tensor in that entry, in bytes.
};

// Reads the pickle of an archive that holds one tensor. Throws CheckpointError if it holds anything
// else, or a tensor whose elements are not in row-major order.
ArchivedTensor parse_archived_tensor(std::string_view pickle, const std::string& file);

}  // namespace accel::weights
