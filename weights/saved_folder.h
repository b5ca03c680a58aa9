// A folder with a sharded checkpoint, written by accel, or by Python's torch.distributed.checkpoint
// in either of its formats. Used by workers, which read their own parts, and by
// `accel merge-weights`. Functions throw CheckpointError with the file's name and the system's
// reason.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "weights/core/saved_tensors.h"

namespace accel::weights {

class SavedFolder {
 public:
  // Reads the headers of all files, and none of the tensors. A folder with a `.metadata` file is
  // one of Python's DCP; otherwise all files *.safetensors belong to the checkpoint. Throws
  // CheckpointError if there is no checkpoint, or a tensor is incomplete.
  explicit SavedFolder(const std::filesystem::path& folder);
  // Reads the headers of these files of the folder, safetensors, and of no others.
  SavedFolder(const std::filesystem::path& folder, const std::vector<std::string>& names);

  const SavedTensors& saved() const { return saved_; }
  // Names of what is no tensor, such as a learning rate of an optimizer in Python. They are
  // skipped.
  const std::vector<std::string>& objects() const { return objects_; }

  // Reads these ranges of a tensor into `to`, which holds the part that they were planned for.
  // Thread-safe.
  void read(const std::vector<ByteRange>& ranges, char* to) const;

 private:
  std::size_t add_file(const std::string& name);
  void read_safetensors(const std::vector<std::string>& names);
  void read_dcp(const std::filesystem::path& metadata);
  std::string read_bytes(std::size_t file, std::uint64_t begin, std::uint64_t length) const;
  void read_into(std::size_t file, std::uint64_t begin, std::uint64_t length, char* to) const;

  const std::filesystem::path folder_;
  SavedTensors saved_;
  std::vector<std::string> objects_;
  std::vector<std::uint64_t> sizes_;  // For each of saved_.files, in bytes.
};

}  // namespace accel::weights
