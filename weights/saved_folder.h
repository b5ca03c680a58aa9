// A folder with a sharded checkpoint of accel, or of Python's torch.distributed.checkpoint in
// either of its formats. Workers use it to read their own parts, and `accel merge-weights` to merge
// all parts. Functions throw CheckpointError with the file's name and the system's reason.
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
  // Reads the headers of these safetensors files of the folder, and of no others.
  SavedFolder(const std::filesystem::path& folder, const std::vector<std::string>& names);

  const SavedTensors& saved() const { return saved_; }
  // The names of saved objects that are no tensors, such as a learning rate of an optimizer in
  // Python. They are skipped.
  const std::vector<std::string>& objects() const { return objects_; }

  // Reads these ranges of a tensor into `to`. The memory at `to` holds the part for which the
  // ranges were planned. Thread-safe.
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
