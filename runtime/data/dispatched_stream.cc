#include "runtime/data/dispatched_stream.h"

#include <algorithm>

#include "runtime/data/dispatch_link.h"

namespace accel::runtime {

DispatchedTensors::DispatchedTensors(Reader reader, const LoaderContext& context,
                                     const ShardOptions& options)
    : reader_(std::move(reader)),
      transfer_(context.transfer),
      link_(std::make_unique<DispatchLink>(context.communicator, options)) {}

DispatchedTensors::~DispatchedTensors() = default;

std::optional<DispatchedTensors::Tensors> DispatchedTensors::next() {
  if (link_->ended()) return std::nullopt;
  std::optional<Tensors> global;
  if (reader_) notify_on_failure([&] { global = reader_(); });
  const bool is_on_device =
      global && std::any_of(global->batch.begin(), global->batch.end(),
                            [](const at::Tensor& t) { return t.defined() && !t.is_cpu(); });
  std::optional<Tensors> slice;
  transfer_->run_in_copy_stream(
      [&] { slice = reader_ ? scatter(std::move(global)) : link_->receive(); },
      /*after_current=*/is_on_device);
  return slice;
}

std::optional<DispatchedTensors::Tensors> DispatchedTensors::scatter(
    std::optional<Tensors> global) {
  if (!global) {
    link_->send_end();
    return std::nullopt;
  }
  notify_on_failure([&] { transfer_->copy_in_current_stream(global->batch); });
  return link_->send(global->batch, global->samples);
}

void DispatchedTensors::notify_on_failure(const std::function<void()>& work) {
  try {
    work();
  } catch (...) {
    link_->send_failure();
    throw;
  }
}

}  // namespace accel::runtime
