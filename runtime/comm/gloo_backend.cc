// The only file that includes Gloo's headers. The headers come from Debian's package, and the code
// from LibTorch. Their versions can differ, so their use is kept in one place.
//
// LibTorch's reduce-scatter over Gloo is an all-reduce whose result is then cut. Each rank sends
// twice the tensor, and with 4 ranks this is slower than the all-reduce itself. Here the ranks
// first exchange the parts, and then each rank adds up its own part:
//
// clang-format off
//   rank 0 has  a0 a1 a2        sends a1, a2     receives b0, c0     a0 + (b0 + c0)
//   rank 1 has  b0 b1 b2        sends b0, b2     receives a1, c1     b1 + (c1 + a1)
//   rank 2 has  c0 c1 c2        sends c0, c1     receives a2, b2     c2 + (a2 + b2)
// clang-format on
//
// Each rank sends (n - 1) / n of the tensor, which is the minimum. It needs a second buffer of the
// tensor's size. The additions have the same order as in shared memory, so results are equal bit
// for bit (docs/decisions/0017).
#include "runtime/comm/gloo_backend.h"

#include <gloo/common/error.h>

#include <sstream>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <utility>
#include <vector>

#include "runtime/comm/broken_pipe.h"
#include "runtime/comm/element_reduction.h"
#include "runtime/comm/local_address.h"

namespace accel::runtime {
namespace {

using Gloo = c10d::ProcessGroupGloo;
using c10::ivalue::Future;
using WorkPtr = c10::intrusive_ptr<c10d::Work>;

// A call that ends when its future does. Not made by Work::create_from_future(), which would not
// throw the errors of the future.
class FutureWork final : public c10d::Work {
 public:
  FutureWork(int rank, c10d::OpType type, c10::intrusive_ptr<Future> future, at::Tensor output)
      : Work(rank, type), future_(std::move(future)), output_(std::move(output)) {}

  bool isCompleted() override { return future_->completed(); }
  bool isSuccess() const override { return future_->completed() && !future_->hasError(); }
  std::exception_ptr exception() const override {
    return future_->hasError() ? future_->exception_ptr() : nullptr;
  }
  // The exchange has the call's timeout, and ends with an error when that has passed.
  bool wait(std::chrono::milliseconds) override {
    future_->wait();
    if (future_->hasError()) std::rethrow_exception(future_->exception_ptr());
    return true;
  }
  std::vector<at::Tensor> result() override { return {output_}; }
  c10::intrusive_ptr<Future> getFuture() override { return future_; }

 private:
  const c10::intrusive_ptr<Future> future_;
  const at::Tensor output_;
};

// Writes into `output` the sum of this rank's parts, of which `parts` has one from each rank.
void add_parts(const at::Tensor& parts, const at::Tensor& output, int rank, int ranks,
               const ElementReduction& reduction) {
  const auto elements = static_cast<std::size_t>(output.numel());
  const auto* bytes = static_cast<const std::byte*>(parts.const_data_ptr());
  const auto part = [&](int from) {
    return bytes + static_cast<std::size_t>(from % ranks) * elements * reduction.element_size;
  };
  const at::Tensor sum = output.is_contiguous() ? output : at::empty_like(output, at::kStrided);
  void* to = sum.data_ptr();
  // x[rank] + (x[rank + 1] + (... + x[rank - 1])), as in ring_chunks.h.
  reduction.function(to, part(rank + ranks - 2), part(rank + ranks - 1), elements);
  for (int step = ranks - 3; step >= 0; --step) {
    reduction.function(to, part(rank + step), to, elements);
  }
  if (!sum.is_same(output)) output.copy_(sum);
}

class SocketBackend final : public Gloo {
 public:
  using Gloo::Gloo;

  WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                               const c10d::ReduceScatterOptions& options) override {
    const bool is_plain = input.device().is_cpu() && output.device().is_cpu() &&
                          input.layout() == at::kStrided && !input.is_complex() &&
                          input.scalar_type() == output.scalar_type() &&
                          input.numel() == output.numel() * getSize();
    const ElementReduction reduction =
        is_plain && getSize() > 1 && output.numel() > 0
            ? element_reduction(input.scalar_type(), options.reduceOp)
            : ElementReduction{};
    if (reduction.function == nullptr) {
      return Gloo::_reduce_scatter_base(output, input, options);
    }
    at::Tensor sent = input.contiguous().view({-1}), parts = at::empty_like(sent);
    std::vector<std::int64_t> equal;
    c10d::AllToAllOptions exchange;
    exchange.timeout = options.timeout;
    const WorkPtr exchanged = alltoall_base(parts, sent, equal, equal, exchange);
    const bool is_mean = options.reduceOp == c10d::ReduceOp::AVG;
    auto future = exchanged->getFuture()->then(
        [parts, output, reduction, is_mean, rank = getRank(), ranks = getSize()](Future& parts_in) {
          parts_in.value();  // Throws the error of the exchange.
          const at::NoGradGuard no_grad;
          add_parts(parts, output, rank, ranks, reduction);
          if (is_mean) at::Tensor(output).div_(ranks);
          return c10::IValue(std::vector<at::Tensor>{output});
        },
        c10::ListType::create(c10::TensorType::get()));
    return c10::make_intrusive<FutureWork>(getRank(), c10d::OpType::_REDUCE_SCATTER_BASE,
                                           std::move(future), output);
  }
};

void add_devices(const Environment& environment, Gloo::Options& options) {
  std::istringstream interfaces(environment.gloo_interfaces);
  for (std::string name; std::getline(interfaces, name, ',');) {
    options.devices.push_back(Gloo::createDeviceForInterface(name));
  }
  if (options.devices.empty()) {
    options.devices.push_back(
        Gloo::createDeviceForHostname(local_address_towards(environment.master_addr)));
  }
}

}  // namespace

c10::intrusive_ptr<c10d::Backend> make_gloo_backend(const c10::intrusive_ptr<c10d::Store>& store,
                                                    const Environment& environment,
                                                    std::chrono::milliseconds timeout) {
  survive_broken_pipes();
  auto options = Gloo::Options::create(timeout);
  add_devices(environment, *options);
  return c10::make_intrusive<SocketBackend>(store, environment.rank, environment.world_size,
                                            options);
}

bool is_gloo_error(const std::exception& error) {
  return dynamic_cast<const gloo::Exception*>(&error) != nullptr;
}

}  // namespace accel::runtime
