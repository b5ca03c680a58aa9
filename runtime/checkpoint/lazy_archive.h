// An archive of LibTorch whose large tensors are read later, and only the elements that are asked
// for. A rank of a sharded run loads its part of optimizer.bin so (docs/decisions/0072).
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

// Errors are CheckpointErrors with the name of the file. After load(), read() is thread-safe.
class LazyArchive {
 public:
  // Tensors with fewer bytes are read by load().
  static constexpr std::uint64_t kLarge = 64 << 10;

  // Throws CheckpointError if the file cannot be read or is not an archive.
  explicit LazyArchive(std::filesystem::path file);

  // Passes the archive to `load`, with its tensors on the CPU. The large ones have an address and
  // no values yet, so nothing touches their pages. The tensors are known to read() inside of `load`
  // alone, because their addresses may belong to others afterwards. To be called once.
  void load(const std::function<void(torch::serialize::InputArchive&)>& load);

  // Returns the elements `range` of the flattened tensor, which load() has made, in memory that is
  // not the tensor's. Throws CheckpointError if the tensor has fewer elements, and, as the other
  // read() does, if a tensor reaches out of its record of the file.
  at::Tensor read(const at::Tensor& tensor, const ElementRange& range) const;
  // Returns the whole tensor, with its shape: the same tensor if LibTorch has read it.
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
  // Calls what makes reads for LibTorch, and throws the error of these reads, if there was one.
  void parse(const std::function<void()>& use_libtorch);
  // Returns the record of a tensor that has elements, all of which are in the record.
  const Record& record_of(const at::Tensor& tensor) const;

  FileReader file_;
  std::map<std::uint64_t, Record> records_;       // Those of tensors, by their offsets.
  std::map<const void*, const Record*> read_to_;  // By the address that LibTorch has for them.
  std::exception_ptr error_;                      // What a read for LibTorch threw.
};

}  // namespace accel::runtime
