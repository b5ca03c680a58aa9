#include "runtime/testing/fake_nccl.h"

#include <ATen/ops/from_blob.h>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <utility>
#include <vector>

#include "runtime/comm/gloo_backend.h"
#include "runtime/process/read_environment.h"
#include "runtime/testing/fake_device.h"

namespace accel::runtime {
namespace {

using std::chrono::milliseconds;

using Call = c10::intrusive_ptr<c10d::Work>;
using Tensors = std::vector<at::Tensor>;

class FakeNccl final : public c10d::Backend {
 public:
  FakeNccl(const c10::intrusive_ptr<c10d::Store>& store, const Environment& environment,
           milliseconds timeout)
      : Backend(environment.rank, environment.world_size),
        gloo_(make_gloo_backend(c10::make_intrusive<c10d::PrefixStore>("fake_nccl", store),
                                environment, timeout)) {}

  Call allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    return queue([&] {
      Tensors there = on_host(tensors);
      gloo_->allreduce(there, options)->wait();
    });
  }
  Call broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    return queue([&] {
      Tensors there = on_host(tensors);
      gloo_->broadcast(there, options)->wait();
    });
  }
  Call _allgather_base(at::Tensor& output, at::Tensor& input,
                       const c10d::AllgatherOptions& options) override {
    return queue([&] {
      at::Tensor to = on_host(output), from = on_host(input);
      gloo_->_allgather_base(to, from, options)->wait();
    });
  }
  Call _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                            const c10d::ReduceScatterOptions& options) override {
    return queue([&] {
      at::Tensor to = on_host(output), from = on_host(input);
      gloo_->_reduce_scatter_base(to, from, options)->wait();
    });
  }

  void eagerConnectSingleDevice(at::Device) override {}
  c10d::ErrorType getError() override { return c10d::ErrorType::SUCCESS; }
  void abort() override { set_fake_device_stuck(false); }  // The kernels end.
  void shutdown() override {}

 private:
  struct Queued : c10d::Work {
    bool wait(milliseconds) override { return true; }
  };
  template <typename Function>
  Call queue(const Function& call) {
    if (!fake_device_is_stuck()) call();
    return c10::make_intrusive<Queued>();
  }
  // Returns the same memory as a tensor of the host.
  static at::Tensor on_host(const at::Tensor& tensor) {
    return at::from_blob(tensor.data_ptr(), tensor.sizes(),
                         at::TensorOptions(tensor.scalar_type()));
  }
  static Tensors on_host(const Tensors& tensors) {
    Tensors there;
    for (const at::Tensor& tensor : tensors) there.push_back(on_host(tensor));
    return there;
  }

  const c10::intrusive_ptr<c10d::Backend> gloo_;
};

}  // namespace

std::shared_ptr<Communicator> join_fake_gpus(milliseconds timeout) {
  use_fake_device();
  return Communicator::join(
      read_environment(), kFakeDevice, timeout,
      [](const auto& store, const Environment& environment, milliseconds limit) {
        return c10::make_intrusive<FakeNccl>(store, environment, limit);
      });
}

}  // namespace accel::runtime
