#include "runtime/checkpoint/tensor_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <stdexcept>

#include "runtime/core/checkpoint_error.h"

namespace accel {
namespace fs = std::filesystem;
namespace {

using Dtype = SafetensorsDtype;

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

void add_state(const torch::nn::Module& module, const std::string& prefix, NamedTensors& state) {
  for (const auto& item : module.named_parameters(/*recurse=*/false)) {
    if (item.value().defined()) state.emplace_back(prefix + item.key(), item.value().detach());
  }
  for (const auto& item : module.named_buffers(/*recurse=*/false)) {
    if (item.value().defined()) state.emplace_back(prefix + item.key(), item.value().detach());
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

NamedTensors state_of(const torch::nn::Module& module) {
  NamedTensors state;
  add_state(module, "", state);
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
  std::vector<SafetensorsEntry> entries;
  for (const auto& [name, tensor] : tensors) {
    entries.push_back(
        {.name = name, .dtype = dtype_of(name, tensor), .shape = tensor.sizes().vec()});
    by_name[name] = tensor.detach();
  }
  header_ = lay_out(std::move(entries));
  header_bytes_ = header_bytes(header_);
  for (const SafetensorsEntry& entry : header_.entries) {
    tensors_.push_back(by_name.at(entry.name).cpu().contiguous());
  }
}

void TensorFile::copy_to(char* memory) {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    torch::Tensor copy = torch::from_blob(memory + header_.entries[i].begin, tensors_[i].sizes(),
                                          tensors_[i].options());
    copy.copy_(tensors_[i]);
    tensors_[i] = std::move(copy);
  }
}

std::vector<std::string_view> TensorFile::parts() const {
  std::vector<std::string_view> parts{header_bytes_};
  for (const torch::Tensor& tensor : tensors_) {
    parts.emplace_back(static_cast<const char*>(tensor.data_ptr()), tensor.nbytes());
  }
  return parts;
}

TensorFileReader::TensorFileReader(fs::path file)
    : file_(std::move(file)), fd_(::open(file_.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (fd_ < 0) throw CheckpointError(file_.string() + ": cannot open: " + std::strerror(errno));
  try {
    struct stat status {};
    ::fstat(fd_, &status);
    const auto size = static_cast<std::uint64_t>(status.st_size);
    char first[8];
    const ssize_t count = ::pread(fd_, first, sizeof first, 0);
    const std::uint64_t length = header_length(
        {first, static_cast<std::size_t>(std::max<ssize_t>(0, count))}, size, file_.string());
    std::string json(length, '\0');
    read_bytes({.name = "header", .begin = 0, .end = length}, json.data());
    header_ = parse_header(json, size, file_.string());
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

TensorFileReader::~TensorFileReader() { ::close(fd_); }

// By pread() rather than from a mapping: a file that shrinks meanwhile is an error and no SIGBUS,
// and a page that is read once need not be mapped.
void TensorFileReader::read_bytes(const SafetensorsEntry& entry, void* to) const {
  const std::uint64_t base = header_.data_begin == 0 ? 8 : header_.data_begin;
  std::uint64_t done = 0;
  while (done < entry.end - entry.begin) {
    const ssize_t count =
        ::pread(fd_, static_cast<char*>(to) + done, entry.end - entry.begin - done,
                static_cast<off_t>(base + entry.begin + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      throw CheckpointError(file_.string() + ": cannot read " + entry.name + ": " +
                            (count < 0 ? std::strerror(errno) : "the file ends early"));
    }
    done += static_cast<std::uint64_t>(count);
  }
}

void TensorFileReader::read(const SafetensorsEntry& entry, torch::Tensor target) const {
  torch::NoGradGuard no_grad;
  if (target.sizes() != torch::IntArrayRef(entry.shape)) {
    std::ostringstream text;
    text << file_.string() << ": " << entry.name << " has shape " << torch::IntArrayRef(entry.shape)
         << " there and " << target.sizes() << " in this program";
    throw CheckpointError(text.str());
  }
  if (target.is_cpu() && target.is_contiguous() && target.scalar_type() == type_of(entry.dtype)) {
    read_bytes(entry, target.data_ptr());
  } else {
    target.copy_(read(entry));
  }
}

torch::Tensor TensorFileReader::read(const SafetensorsEntry& entry) const {
  torch::Tensor tensor = torch::empty(entry.shape, type_of(entry.dtype));
  read_bytes(entry, tensor.data_ptr());
  return tensor;
}

}  // namespace accel
