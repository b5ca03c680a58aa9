#include "runtime/checkpoint/tensor_file.h"

#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "accel/errors.h"
#include "runtime/checkpoint/parallel_io.h"

namespace accel::runtime {
namespace fs = std::filesystem;
namespace {

using Dtype = weights::SafetensorsDtype;

constexpr std::pair<Dtype, torch::ScalarType> kDtypes[] = {
    {Dtype::kBool, torch::ScalarType::Bool},
    {Dtype::kU8, torch::ScalarType::Byte},
    {Dtype::kI8, torch::ScalarType::Char},
    {Dtype::kF8E5M2, torch::ScalarType::Float8_e5m2},
    {Dtype::kF8E4M3, torch::ScalarType::Float8_e4m3fn},
    {Dtype::kI16, torch::ScalarType::Short},
    {Dtype::kU16, torch::ScalarType::UInt16},
    {Dtype::kF16, torch::ScalarType::Half},
    {Dtype::kBF16, torch::ScalarType::BFloat16},
    {Dtype::kI32, torch::ScalarType::Int},
    {Dtype::kU32, torch::ScalarType::UInt32},
    {Dtype::kF32, torch::ScalarType::Float},
    {Dtype::kC64, torch::ScalarType::ComplexFloat},
    {Dtype::kF64, torch::ScalarType::Double},
    {Dtype::kI64, torch::ScalarType::Long},
    {Dtype::kU64, torch::ScalarType::UInt64},
};

void add_state(const torch::nn::Module& module, const std::string& prefix, NamedTensors& state) {
  for (const auto& item : module.named_parameters(/*recurse=*/false)) {
    if (item.value().defined()) state.emplace_back(prefix + item.key(), item.value());
  }
  for (const auto& item : module.named_buffers(/*recurse=*/false)) {
    if (item.value().defined()) state.emplace_back(prefix + item.key(), item.value());
  }
  for (const auto& child : module.named_children()) {
    add_state(*child.value(), prefix + child.key() + ".", state);
  }
}

bool same_tensor(const torch::Tensor& left, const torch::Tensor& right) {
  return left.numel() > 0 && left.data_ptr() == right.data_ptr() &&
         left.device() == right.device() && left.scalar_type() == right.scalar_type() &&
         left.sizes() == right.sizes() && left.strides() == right.strides();
}

}  // namespace

Dtype dtype_of(const std::string& name, const torch::Tensor& tensor) {
  for (const auto& [dtype, type] : kDtypes) {
    if (type == tensor.scalar_type()) return dtype;
  }
  throw std::invalid_argument("safetensors has no dtype for " + name + ", which is " +
                              c10::toString(tensor.scalar_type()));
}

torch::ScalarType type_of(Dtype dtype) {
  return std::find_if(std::begin(kDtypes), std::end(kDtypes),
                      [&](const auto& pair) { return pair.first == dtype; })
      ->second;
}

NamedTensors attached_state_of(const torch::nn::Module& module) {
  NamedTensors state;
  add_state(module, "", state);
  return state;
}

NamedTensors state_of(const torch::nn::Module& module) {
  NamedTensors state = attached_state_of(module);
  for (auto& [name, tensor] : state) tensor = tensor.detach();
  return state;
}

NamedTensors without_tied(const NamedTensors& tensors) {
  NamedTensors distinct;
  std::multimap<const void*, torch::Tensor> seen;
  for (const auto& [name, tensor] : tensors) {
    const auto [begin, end] = seen.equal_range(tensor.data_ptr());
    if (std::any_of(begin, end,
                    [&, &t = tensor](const auto& s) { return same_tensor(s.second, t); }))
      continue;
    seen.emplace(tensor.data_ptr(), tensor);
    distinct.emplace_back(name, tensor);
  }
  return distinct;
}

TensorFile::TensorFile(const NamedTensors& tensors) {
  std::map<std::string, torch::Tensor> by_name;
  std::vector<weights::SafetensorsEntry> entries;
  for (const auto& [name, tensor] : tensors) {
    entries.push_back(
        {.name = name, .dtype = dtype_of(name, tensor), .shape = tensor.sizes().vec()});
    by_name[name] = tensor.detach();
  }
  header_ = weights::lay_out(std::move(entries));
  header_bytes_ = weights::header_bytes(header_);
  for (const weights::SafetensorsEntry& entry : header_.entries) {
    tensors_.push_back(by_name.at(entry.name).cpu().contiguous());
  }
}

std::vector<std::string_view> TensorFile::parts() const {
  std::vector<std::string_view> parts{header_bytes_};
  for (const torch::Tensor& tensor : tensors_) {
    parts.emplace_back(static_cast<const char*>(tensor.data_ptr()), tensor.nbytes());
  }
  return parts;
}

TensorFileReader::TensorFileReader(fs::path file) : file_(std::move(file)) {
  const std::string name = file_.file().string();
  std::string first(std::min<std::uint64_t>(8, file_.size()), '\0');
  file_.read(0, first.size(), first.data(), "the header");
  std::string json(weights::header_length(first, file_.size(), name), '\0');
  file_.read(first.size(), json.size(), json.data(), "the header");
  header_ = weights::parse_header(json, file_.size(), name);
}

std::uint64_t TensorFileReader::position(const weights::SafetensorsEntry& entry) const {
  return header_.data_begin + entry.begin;
}

torch::Tensor TensorFileReader::read(const weights::SafetensorsEntry& entry) const {
  torch::Tensor tensor = torch::empty(entry.shape, type_of(entry.dtype));
  file_.read(position(entry), entry.end - entry.begin, tensor.data_ptr(), entry.name);
  return tensor;
}

void check_shapes(const std::vector<TensorRead>& reads) {
  for (const auto& [file, entry, target] : reads) {
    if (target.sizes() == torch::IntArrayRef(entry->shape)) continue;
    std::ostringstream text;
    text << file->file().string() << ": " << entry->name << " has shape "
         << torch::IntArrayRef(entry->shape) << " there and " << target.sizes()
         << " in this program";
    throw CheckpointError(text.str());
  }
}

namespace {

// Reads tensors whose targets have another dtype or device, or are not contiguous. Each thread
// holds one tensor in memory at a time.
void convert_tensors(std::vector<const TensorRead*> reads) {
  std::ranges::sort(
      reads, {}, [](const TensorRead* read) { return std::pair(read->file, read->entry->begin); });
  in_parallel(reads.size(), [&](std::size_t i) {
    torch::NoGradGuard no_grad;
    const c10::OptionalDeviceGuard on(reads[i]->target.device());  // A thread starts on GPU 0.
    torch::Tensor(reads[i]->target).copy_(reads[i]->file->read(*reads[i]->entry));
  });
}

}  // namespace

void read_tensors(const std::vector<TensorRead>& reads) {
  struct Piece {
    const FileReader* file;
    std::uint64_t offset, size;  // The bytes in the file.
    char* to;
    const std::string* name;
  };
  std::vector<Piece> pieces;
  std::vector<const TensorRead*> converted;
  for (const TensorRead& read : reads) {
    const auto& [file, entry, target] = read;
    if (!target.is_cpu() || !target.is_contiguous() ||
        target.scalar_type() != type_of(entry->dtype)) {
      converted.push_back(&read);
      continue;
    }
    for (std::uint64_t at = 0; at < target.nbytes(); at += kIoBytes) {
      pieces.push_back({&file->file_, file->position(*entry) + at,
                        std::min<std::uint64_t>(kIoBytes, target.nbytes() - at),
                        static_cast<char*>(target.data_ptr()) + at, &entry->name});
    }
  }
  // Sorts the pieces by their offsets in the file. A model has another order, because a file is
  // sorted by dtype and name.
  std::ranges::sort(pieces, {},
                    [](const Piece& piece) { return std::pair(piece.file, piece.offset); });
  read_in_parallel(
      pieces.size(),
      [&](std::size_t i) { pieces[i].file->announce(pieces[i].offset, pieces[i].size); },
      [&](std::size_t i) {
        const auto& [file, offset, size, to, name] = pieces[i];
        file->read(offset, size, to, *name);
      });
  convert_tensors(std::move(converted));
}

}  // namespace accel::runtime
