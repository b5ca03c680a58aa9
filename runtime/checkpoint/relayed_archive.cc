#include "runtime/checkpoint/relayed_archive.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace accel::runtime {

RelayedTensors::RelayedTensors(const std::vector<torch::Tensor>& like) {
  std::size_t most = 0;
  for (const torch::Tensor& one : like) most = std::max(most, one.nbytes());
  memory_ = torch::empty({static_cast<std::int64_t>(most)}, at::kByte);
  for (const torch::Tensor& one : like) {
    const auto options = at::TensorOptions(one.scalar_type());
    if (one.numel() == 0) {
      tensors_.push_back(torch::empty(one.sizes(), options));
      continue;
    }
    tensors_.push_back(torch::from_blob(memory_.mutable_data_ptr(), one.sizes(), options));
    sizes_.push_back(one.nbytes());
  }
}

void RelayedTensors::fill(std::size_t i) {
  if (i == sizes_.size()) return;
  std::size_t size = 0;
  const bool is_given = relay_.take([&](std::string_view bytes) {
    size = bytes.size();
    if (size == sizes_[i]) std::memcpy(memory_.mutable_data_ptr(), bytes.data(), size);
  });
  if (!is_given || size != sizes_[i]) {
    throw std::logic_error("a tensor of an archive was not given, or has another size");
  }
}

void RelayedTensors::write(const std::function<void(const ByteSink&)>& write,
                           const ByteSink& sink) {
  const char* const memory = static_cast<const char*>(memory_.const_data_ptr());
  std::size_t next = 0, done = 0;  // The tensor that is in the memory, and how much is written.
  fill(0);
  write([&](std::string_view part) {
    if (part.data() < memory || part.data() >= memory + memory_.nbytes()) return sink(part);
    if (next == sizes_.size() || part.data() != memory + done ||
        part.size() > sizes_[next] - done) {
      throw std::logic_error("LibTorch has written the tensors of an archive in another order");
    }
    sink(part);
    done += part.size();
    if (done < sizes_[next]) return;
    done = 0;
    fill(++next);
  });
  if (next != sizes_.size()) {
    throw std::logic_error("LibTorch has left out a tensor of an archive");
  }
}

}  // namespace accel::runtime
