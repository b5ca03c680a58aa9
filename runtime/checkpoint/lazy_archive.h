// An archive of LibTorch whose large tensors are read later, element by element as needed. With it,
// a rank of a sharded run loads only its part of optimizer.bin (docs/decisions/0072).
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/serialize/archive.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "runtime/checkpoint/file_reader.h"
#include "runtime/core/sharding/flat_layout.h"

namespace accel::runtime {

// One archive file. Errors are CheckpointErrors with the name of the file. After load(),
// read() is thread-safe.
class LazyArchive {
 public:
  // Tensors with fewer bytes are read by load().
  static constexpr std::uint64_t kLarge = 64 << 10;

  // Throws CheckpointError if the file cannot be read or is not an archive.
  explicit LazyArchive(std::filesystem::path file);

  // Passes the archive to `load`, with its tensors on the CPU. Large tensors have an address and no
  // values yet, so nothing touches their pages. Only inside of `load` may tensors be given to
  // read(), because their addresses may belong to other tensors afterwards. Called once.
  void load(const std::function<void(torch::serialize::InputArchive&)>& load);

  // Returns the elements `range` of the flattened tensor, which load() has made, in separate
  // memory. Throws CheckpointError if the tensor has fewer elements. Both read() throw
  // CheckpointError if a tensor reaches out of its record of the file, or has no record.
  at::Tensor read(const at::Tensor& tensor, const ElementRange& range) const;
  // Returns the whole tensor, with its shape. If LibTorch has read it, returns the same tensor.
  at::Tensor read(const at::Tensor& tensor) const;

 private:
  class Adapter;
  struct Record {
    std::string name;
    std::uint64_t offset;  // In the file.
    std::uint64_t size;    // Bytes.
    bool is_large() const { return size >= kLarge; }
  };

  std::size_t read_for_libtorch(std::uint64_t offset, void* to, std::size_t size);
  // Calls `use_libtorch`, which makes LibTorch read the file. Throws the error of these reads if
  // there was one.
  void parse(const std::function<void()>& use_libtorch);
  // Returns the record of a tensor that has elements, all of which are in the record.
  const Record& record_of(const at::Tensor& tensor) const;

  FileReader file_;
  std::map<std::uint64_t, Record> records_;  // The records of tensors, by their offsets.
  // The records by the addresses at which LibTorch has allocated memory for them.
  std::map<const void*, const Record*> read_to_;
  std::exception_ptr error_;  // The error of a read for LibTorch.
};

}  // namespace accel::runtime
