// How single tensors of an archive are read. An archive is a ZIP file without compression, and each
// tensor's storage is one record of it. LibTorch allocates memory for a record, and then calls our
// function to fill that memory. The function notes the address. If the record is large, it returns
// without filling the memory. The address of a tensor then tells which record the tensor belongs
// to. LibTorch compares neither shapes nor sizes of memory with records, so both are compared here
// before an element is read.
//
// Two obvious ways fail. LibTorch maps files into memory for Python only. If rank 0 read the
// archive and sent pieces to the other ranks, it would hold the state of all ranks.
#include "runtime/checkpoint/lazy_archive.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <caffe2/serialize/inline_container.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "accel/errors.h"
#include "runtime/checkpoint/archive_errors.h"
#include "runtime/memory/large_blocks.h"

namespace accel::runtime {

namespace {

// Returns how many elements of its memory a tensor needs: one more than the place of its last
// element, or 0 if it has no elements. Returns nullopt if an element is before the start of the
// memory, or if the number does not fit into 64 bits. The file may contain any numbers.
std::optional<std::uint64_t> needed_elements(const at::Tensor& tensor) {
  std::int64_t last = tensor.storage_offset();
  if (last < 0) return std::nullopt;
  const auto sizes = tensor.sizes(), strides = tensor.strides();
  if (std::ranges::find(sizes, 0) != sizes.end()) return 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::int64_t distance = 0;
    if (sizes[i] < 0 || strides[i] < 0 ||
        __builtin_mul_overflow(sizes[i] - 1, strides[i], &distance) ||
        __builtin_add_overflow(last, distance, &last)) {
      return std::nullopt;
    }
  }
  return static_cast<std::uint64_t>(last) + 1;
}

}  // namespace

class LazyArchive::Adapter final : public caffe2::serialize::ReadAdapterInterface {
 public:
  explicit Adapter(LazyArchive& archive) : archive_(archive) {}
  std::size_t size() const override { return archive_.file_.size(); }
  std::size_t read(std::uint64_t offset, void* to, std::size_t size, const char*) const override {
    return archive_.read_for_libtorch(offset, to, size);
  }

 private:
  LazyArchive& archive_;
};

LazyArchive::LazyArchive(std::filesystem::path file) : file_(std::move(file)) {
  parse([this] {
    caffe2::serialize::PyTorchStreamReader reader(std::make_shared<Adapter>(*this));
    std::map<std::uint64_t, Record> records;
    for (const std::string& name : reader.getAllRecords()) {
      if (!name.starts_with("data/") && !name.starts_with("constants/")) continue;  // No tensor's.
      const std::uint64_t offset = reader.getRecordOffset(name);
      records[offset] = {name, offset, reader.getRecordSize(name)};
    }
    records_ = std::move(records);
  });
}

void LazyArchive::load(const std::function<void(torch::serialize::InputArchive&)>& load) {
  torch::serialize::InputArchive archive;
  parse([&] {
    const WithoutLargeBlocks scope;  // The pool would count blocks that nothing touches as used.
    archive.load_from([this](std::uint64_t offset, void* to,
                             std::size_t size) { return read_for_libtorch(offset, to, size); },
                      [this] { return file_.size(); }, c10::kCPU);
  });
  use_archive(file_.file(), [&] { load(archive); });
}

// LibTorch calls this from C code, which no exception may pass.
std::size_t LazyArchive::read_for_libtorch(std::uint64_t offset, void* to, std::size_t size) {
  try {
    const auto record = records_.find(offset);
    const bool is_tensor = record != records_.end() && record->second.size == size;
    if (!is_tensor || !record->second.is_large()) file_.read(offset, size, to, "the archive");
    if (is_tensor) read_to_[to] = &record->second;
    return size;
  } catch (...) {
    error_ = std::current_exception();
    return 0;
  }
}

void LazyArchive::parse(const std::function<void()>& use_libtorch) {
  parse_archive(file_.file(), [&] {
    error_ = nullptr;
    try {
      use_libtorch();
    } catch (...) {
      if (!error_) throw;  // Otherwise LibTorch has replaced our error by its own.
    }
    if (error_) std::rethrow_exception(error_);
  });
}

const LazyArchive::Record& LazyArchive::record_of(const at::Tensor& tensor) const {
  const auto found = read_to_.find(tensor.storage().data());
  if (found == read_to_.end()) {
    throw CheckpointError(
        file_.file().string() +
        ": a tensor is compressed or has no record, so it cannot be read in parts");
  }
  const Record& record = *found->second;
  const std::string what = file_.file().string() + ": " + record.name + ": a tensor ";
  const auto needed = needed_elements(tensor);
  std::uint64_t bytes = 0;
  if (!needed || __builtin_mul_overflow(*needed, tensor.element_size(), &bytes)) {
    throw CheckpointError(what + "has elements before the start or after the end of any memory");
  }
  const std::uint64_t present = std::min<std::uint64_t>(tensor.storage().nbytes(), record.size);
  if (bytes <= present) return record;
  throw CheckpointError(what + "needs " + std::to_string(bytes) + " bytes, and the record has " +
                        std::to_string(present) + " bytes");
}

at::Tensor LazyArchive::read(const at::Tensor& tensor, const ElementRange& range) const {
  const at::NoGradGuard no_graph;
  if (range.end > tensor.numel()) {
    throw CheckpointError(file_.file().string() + ": a tensor has " +
                          std::to_string(tensor.numel()) + " elements, and at least " +
                          std::to_string(range.end) + " in this program");
  }
  if (range.size() == 0) return at::empty({0}, tensor.options());
  const Record& record = record_of(tensor);
  if (!record.is_large() || !tensor.is_contiguous()) {  // The file has another order of elements.
    return read(tensor).reshape({-1}).slice(0, range.begin, range.end).clone();
  }
  at::Tensor values = at::empty({range.size()}, tensor.options());
  const auto begin = static_cast<std::uint64_t>(tensor.storage_offset() + range.begin);
  file_.read(record.offset + begin * tensor.element_size(), values.nbytes(),
             values.mutable_data_ptr(), "a tensor");
  return values;
}

at::Tensor LazyArchive::read(const at::Tensor& tensor) const {
  if (tensor.numel() == 0) return tensor;
  const Record& record = record_of(tensor);
  if (!record.is_large()) return tensor;
  const auto size = std::min<std::uint64_t>(tensor.storage().nbytes(), record.size);
  at::Tensor storage = at::empty({static_cast<std::int64_t>(size)}, at::kByte);
  file_.read(record.offset, storage.nbytes(), storage.mutable_data_ptr(), "a tensor");
  return at::empty({0}, tensor.options())
      .set_(storage.storage(), tensor.storage_offset(), tensor.sizes(), tensor.strides());
}

}  // namespace accel::runtime
