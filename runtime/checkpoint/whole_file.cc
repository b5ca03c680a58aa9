#include "runtime/checkpoint/whole_file.h"

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <exception>
#include <map>
#include <optional>
#include <utility>

#include "weights/core/safetensors.h"

namespace accel::runtime {

WholeFile::WholeFile(const std::vector<SavedWhole>& all) {
  std::map<std::string, const SavedWhole*> by_name;
  std::vector<weights::SafetensorsEntry> entries;
  for (const SavedWhole& one : all) {
    entries.push_back(
        {.name = one.name, .dtype = dtype_of(one.name, one.held), .shape = one.shape});
    by_name[one.name] = &one;
  }
  const weights::SafetensorsHeader layout = weights::lay_out(std::move(entries));
  header = weights::header_bytes(layout);
  size = layout.data_begin + layout.data_size;
  for (const weights::SafetensorsEntry& entry : layout.entries) {
    tensors.push_back(*by_name.at(entry.name));
  }
}

namespace {

// Blocks until a GPU has computed the tensor. Otherwise a rank that does not write would queue its
// calls far ahead of the rank that writes. The age of a queued call is limited (queued_calls.h).
void wait_for(const torch::Tensor& tensor) {
  if (tensor.is_cpu()) return;
  c10::Event done(tensor.device().type());
  done.record(c10::impl::VirtualGuardImpl(tensor.device().type()).getStream(tensor.device()));
  done.synchronize();
}

// Returns a copy of the tensor in memory of the CPU. If the copy fails, reports the error to the
// relay, and returns nullopt.
std::optional<torch::Tensor> copy_for(ByteRelay& relay, const torch::Tensor& whole) {
  try {
    return whole.cpu().contiguous();
  } catch (...) {
    relay.fail(std::current_exception());
    return std::nullopt;
  }
}

}  // namespace

void give_wholes(const std::vector<SavedWhole>& tensors, const ProcessState& process,
                 ByteRelay* relay) {
  for (const SavedWhole& one : tensors) {
    if (one.unit == nullptr && relay == nullptr) continue;
    const torch::Tensor whole = one.whole();
    std::optional<torch::Tensor> bytes;
    if (relay == nullptr) {
      wait_for(whole);
    } else {
      bytes = copy_for(*relay, whole);
      if (!bytes) relay = nullptr;
    }
    // If a peer was lost, a GPU has gathered what never arrived.
    if (process.communicator != nullptr) process.communicator->check();
    if (!bytes || bytes->nbytes() == 0) continue;
    relay->give({static_cast<const char*>(bytes->const_data_ptr()), bytes->nbytes()});
  }
}

}  // namespace accel::runtime
