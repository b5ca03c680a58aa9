#include "runtime/comm/shared_memory_backend.h"

#include <utility>
#include <vector>

#include "runtime/comm/element_reduction.h"
#include "runtime/comm/shared_memory_exchange.h"

namespace accel {
namespace {

using c10d::OpType;
using c10d::Work;
using Tensors = std::vector<at::Tensor>;
using WorkPtr = c10::intrusive_ptr<Work>;
using Timeout = std::chrono::milliseconds;

// A call and its outcome.
class ExchangeWork final : public Work {
 public:
  ExchangeWork(int rank, OpType type, Tensors outputs)
      : Work(rank, type),
        outputs_(std::move(outputs)),
        future_(c10::make_intrusive<c10::ivalue::Future>(
            c10::ListType::create(c10::TensorType::get()))) {}

  template <typename Body>
  void run(Body&& body) {
    try {
      body();
    } catch (...) {
      finish(std::current_exception());
      future_->setError(std::current_exception());
      return;
    }
    finish();
    future_->markCompleted(c10::IValue(outputs_));
  }

  Tensors result() override { return outputs_; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }

 private:
  const Tensors outputs_;
  const c10::intrusive_ptr<c10::ivalue::Future> future_;
};

bool is_plain(const at::Tensor& tensor) {
  return tensor.device().is_cpu() && tensor.layout() == at::kStrided && !tensor.is_complex();
}

// The elements of `tensor` in one piece of memory: its own, or a copy that commit() writes back.
class Packed {
 public:
  explicit Packed(const at::Tensor& tensor) : tensor_(tensor), dense_(tensor.contiguous()) {}
  void* data() const { return dense_.data_ptr(); }
  std::size_t bytes() const { return dense_.nbytes(); }
  void commit() const {
    if (!dense_.is_same(tensor_)) tensor_.copy_(dense_);
  }

 private:
  const at::Tensor tensor_, dense_;
};

class SharedMemoryBackend final : public c10d::Backend {
 public:
  SharedMemoryBackend(std::unique_ptr<SharedMemorySegment> segment, MakeBackend make_gloo,
                      Timeout timeout)
      : Backend(segment->rank(), segment->world_size()),
        exchange_(std::move(segment)),
        make_gloo_(std::move(make_gloo)),
        timeout_(timeout) {}

  const std::string getBackendName() const override { return "shared_memory"; }

  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    const Reduction reduction = tensors.size() == 1 && is_plain(tensors[0])
                                    ? element_reduction(tensors[0].scalar_type(), options.reduceOp)
                                    : Reduction{};
    if (reduction.function == nullptr) return gloo().allreduce(tensors, options);
    return call(OpType::ALLREDUCE, tensors, [&] {
      const Packed packed(tensors[0]);
      exchange_.all_reduce(packed.data(), static_cast<std::size_t>(tensors[0].numel()), reduction,
                           or_default(options.timeout));
      packed.commit();
      if (options.reduceOp == c10d::ReduceOp::AVG) tensors[0].div_(getSize());
    });
  }

  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    if (tensors.size() != 1 || !is_plain(tensors[0])) return gloo().broadcast(tensors, options);
    return call(OpType::BROADCAST, tensors, [&] {
      const Packed packed(tensors[0]);
      exchange_.broadcast(packed.data(), packed.bytes(), static_cast<int>(options.rootRank),
                          or_default(options.timeout));
      if (options.rootRank != getRank()) packed.commit();
    });
  }

  WorkPtr allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                    const c10d::AllgatherOptions& options) override {
    if (inputs.size() != 1 || outputs.size() != 1 || !is_plain(inputs[0])) {
      return gloo().allgather(outputs, inputs, options);
    }
    return call(OpType::ALLGATHER, outputs[0], [&] {
      const Packed mine(inputs[0]);
      std::vector<Packed> theirs;
      for (const at::Tensor& output : outputs[0]) theirs.emplace_back(output);
      std::vector<void*> outs;
      for (const Packed& one : theirs) {
        TORCH_CHECK(one.bytes() == mine.bytes(), "an output of another size than the input");
        outs.push_back(one.data());
      }
      TORCH_CHECK(static_cast<int>(outs.size()) == getSize(), "not one output for each rank");
      exchange_.all_gather(mine.data(), outs, mine.bytes(), or_default(options.timeout));
      for (const Packed& one : theirs) one.commit();
    });
  }

  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input,
                          const c10d::AllgatherOptions& options) override {
    if (!is_plain(input) || !is_plain(output)) {
      return gloo()._allgather_base(output, input, options);
    }
    return call(OpType::_ALLGATHER_BASE, {output}, [&] {
      const Packed mine(input), all(output);
      TORCH_CHECK(all.bytes() == mine.bytes() * static_cast<std::size_t>(getSize()),
                  "the output is not as large as all ranks' inputs");
      std::vector<void*> outs;
      for (int rank = 0; rank < getSize(); ++rank) {
        outs.push_back(static_cast<std::byte*>(all.data()) +
                       static_cast<std::size_t>(rank) * mine.bytes());
      }
      exchange_.all_gather(mine.data(), outs, mine.bytes(), or_default(options.timeout));
      all.commit();
    });
  }

  WorkPtr scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                  const c10d::ScatterOptions& options) override {
    const bool is_root = options.rootRank == getRank();
    if (outputs.size() != 1 || !is_plain(outputs[0])) {
      return gloo().scatter(outputs, inputs, options);
    }
    return call(OpType::SCATTER, outputs, [&] {
      const Packed mine(outputs[0]);
      std::vector<Packed> parts;
      std::vector<const void*> slices;
      TORCH_CHECK(inputs.size() == (is_root ? 1 : 0), "the root alone gives tensors");
      for (const at::Tensor& part : is_root ? inputs[0] : Tensors()) parts.emplace_back(part);
      for (const Packed& part : parts) {
        TORCH_CHECK(part.bytes() == mine.bytes(), "a part of another size than the output");
        slices.push_back(part.data());
      }
      TORCH_CHECK(!is_root || static_cast<int>(slices.size()) == getSize(),
                  "not one part for each rank");
      exchange_.scatter(slices, mine.data(), mine.bytes(), static_cast<int>(options.rootRank),
                        or_default(options.timeout));
      mine.commit();
    });
  }

  WorkPtr barrier(const c10d::BarrierOptions& options) override {
    return call(OpType::BARRIER, {}, [&] { exchange_.barrier(or_default(options.timeout)); });
  }

  WorkPtr allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    return gloo().allreduce_sparse(tensors, options);
  }
  WorkPtr allreduce_coalesced(Tensors& tensors,
                              const c10d::AllreduceCoalescedOptions& options) override {
    return gloo().allreduce_coalesced(tensors, options);
  }
  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& options) override {
    return gloo().reduce(tensors, options);
  }
  WorkPtr allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                              const c10d::AllgatherOptions& options) override {
    return gloo().allgather_coalesced(outputs, inputs, options);
  }
  WorkPtr gather(std::vector<Tensors>& outputs, Tensors& inputs,
                 const c10d::GatherOptions& options) override {
    return gloo().gather(outputs, inputs, options);
  }
  WorkPtr reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                         const c10d::ReduceScatterOptions& options) override {
    return gloo().reduce_scatter(outputs, inputs, options);
  }
  WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                               const c10d::ReduceScatterOptions& options) override {
    return gloo()._reduce_scatter_base(output, input, options);
  }
  WorkPtr alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<std::int64_t>& out_sizes,
                        std::vector<std::int64_t>& in_sizes,
                        const c10d::AllToAllOptions& options) override {
    return gloo().alltoall_base(output, input, out_sizes, in_sizes, options);
  }
  WorkPtr send(Tensors& tensors, int rank, int tag) override {
    return gloo().send(tensors, rank, tag);
  }
  WorkPtr recv(Tensors& tensors, int rank, int tag) override {
    return gloo().recv(tensors, rank, tag);
  }

  void abort() override { exchange_.abort(); }
  void shutdown() override { exchange_.abort(); }

 private:
  // In the caller's thread: see docs/decisions/0017.
  template <typename Body>
  WorkPtr call(OpType type, Tensors outputs, Body&& body) {
    auto work = c10::make_intrusive<ExchangeWork>(getRank(), type, std::move(outputs));
    work->run(std::forward<Body>(body));
    return work;
  }

  Timeout or_default(Timeout timeout) const {
    return timeout == c10d::kUnsetTimeout ? timeout_ : timeout;
  }

  c10d::Backend& gloo() {
    if (gloo_ == nullptr) gloo_ = make_gloo_();
    return *gloo_;
  }

  SharedMemoryExchange exchange_;
  const MakeBackend make_gloo_;
  const Timeout timeout_;
  c10::intrusive_ptr<c10d::Backend> gloo_;
};

}  // namespace

c10::intrusive_ptr<c10d::Backend> make_shared_memory_backend(
    std::unique_ptr<SharedMemorySegment> segment, MakeBackend make_gloo,
    std::chrono::milliseconds timeout) {
  return c10::make_intrusive<SharedMemoryBackend>(std::move(segment), std::move(make_gloo),
                                                  timeout);
}

}  // namespace accel
