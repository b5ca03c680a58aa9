#include "runtime/comm/shared_memory_backend.h"

#include <ATen/ThreadLocalState.h>

#include <utility>
#include <vector>

#include "runtime/comm/call_queue.h"
#include "runtime/comm/element_reduction.h"
#include "runtime/comm/shared_memory_exchange.h"

namespace accel {
namespace {

using c10d::OpType;
using c10d::Work;
using Tensors = std::vector<at::Tensor>;
using WorkPtr = c10::intrusive_ptr<Work>;
using Timeout = std::chrono::milliseconds;

// Up to this size a call that finds its peers there takes no longer than handing it to another
// thread.
constexpr std::size_t kInlineBytes = 128 << 10;

// A call and its outcome.
class ExchangeWork final : public Work {
 public:
  ExchangeWork(int rank, OpType type, Tensors outputs, std::function<void()> body)
      : Work(rank, type),
        outputs_(std::move(outputs)),
        body_(std::move(body)),
        future_(c10::make_intrusive<c10::ivalue::Future>(
            c10::ListType::create(c10::TensorType::get()))) {}

  void run() {
    try {
      body_();
    } catch (...) {
      error_ = std::current_exception();
    }
    body_ = nullptr;
  }

  // After run(): lets go of who waits.
  void report() {
    finish(error_);
    error_ == nullptr ? future_->markCompleted(c10::IValue(outputs_)) : future_->setError(error_);
  }

  Tensors result() override { return outputs_; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }

 private:
  const Tensors outputs_;
  std::function<void()> body_;
  std::exception_ptr error_;
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

  // Calls that nobody has waited for end with an error: their peers may never come.
  ~SharedMemoryBackend() override { exchange_.leave(); }

  const std::string getBackendName() const override { return "shared_memory"; }

  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    const Reduction reduction = tensors.size() == 1 && is_plain(tensors[0])
                                    ? element_reduction(tensors[0].scalar_type(), options.reduceOp)
                                    : Reduction{};
    if (reduction.function == nullptr) return gloo().allreduce(tensors, options);
    const bool is_mean = options.reduceOp == c10d::ReduceOp::AVG;
    auto body = [=, this, tensor = tensors[0], timeout = or_default(options.timeout)] {
      const Packed packed(tensor);
      exchange_.all_reduce(packed.data(), static_cast<std::size_t>(tensor.numel()), reduction,
                           timeout);
      packed.commit();
      if (is_mean) tensor.div_(getSize());
    };
    return call(OpType::ALLREDUCE, tensors, tensors[0].nbytes(), options.asyncOp, std::move(body));
  }

  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    if (tensors.size() != 1 || !is_plain(tensors[0])) return gloo().broadcast(tensors, options);
    const auto root = static_cast<int>(options.rootRank);
    auto body = [=, this, tensor = tensors[0], timeout = or_default(options.timeout)] {
      const Packed packed(tensor);
      exchange_.broadcast(packed.data(), packed.bytes(), root, timeout);
      if (root != getRank()) packed.commit();
    };
    return call(OpType::BROADCAST, tensors, tensors[0].nbytes(), options.asyncOp, std::move(body));
  }

  WorkPtr allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                    const c10d::AllgatherOptions& options) override {
    if (inputs.size() != 1 || outputs.size() != 1 || !is_plain(inputs[0])) {
      return gloo().allgather(outputs, inputs, options);
    }
    auto body = [=, this, input = inputs[0], to = outputs[0],
                 timeout = or_default(options.timeout)] {
      const Packed mine(input);
      std::vector<Packed> theirs;
      for (const at::Tensor& output : to) theirs.emplace_back(output);
      std::vector<void*> outs;
      for (const Packed& one : theirs) {
        TORCH_CHECK(one.bytes() == mine.bytes(), "an output of another size than the input");
        outs.push_back(one.data());
      }
      TORCH_CHECK(static_cast<int>(outs.size()) == getSize(), "not one output for each rank");
      exchange_.all_gather(mine.data(), outs, mine.bytes(), timeout);
      for (const Packed& one : theirs) one.commit();
    };
    return call(OpType::ALLGATHER, outputs[0], inputs[0].nbytes(), options.asyncOp,
                std::move(body));
  }

  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input,
                          const c10d::AllgatherOptions& options) override {
    if (!is_plain(input) || !is_plain(output)) {
      return gloo()._allgather_base(output, input, options);
    }
    auto body = [=, this, timeout = or_default(options.timeout)] {
      const Packed mine(input), all(output);
      TORCH_CHECK(all.bytes() == mine.bytes() * static_cast<std::size_t>(getSize()),
                  "the output is not as large as all ranks' inputs");
      std::vector<void*> outs;
      for (int rank = 0; rank < getSize(); ++rank) {
        outs.push_back(static_cast<std::byte*>(all.data()) +
                       static_cast<std::size_t>(rank) * mine.bytes());
      }
      exchange_.all_gather(mine.data(), outs, mine.bytes(), timeout);
      all.commit();
    };
    return call(OpType::_ALLGATHER_BASE, {output}, input.nbytes(), options.asyncOp,
                std::move(body));
  }

  WorkPtr scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                  const c10d::ScatterOptions& options) override {
    const auto root = static_cast<int>(options.rootRank);
    if (outputs.size() != 1 || !is_plain(outputs[0])) {
      return gloo().scatter(outputs, inputs, options);
    }
    auto body = [=, this, output = outputs[0], timeout = or_default(options.timeout)] {
      const bool is_root = root == getRank();
      const Packed mine(output);
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
      exchange_.scatter(slices, mine.data(), mine.bytes(), root, timeout);
      mine.commit();
    };
    return call(OpType::SCATTER, outputs, outputs[0].nbytes(), options.asyncOp, std::move(body));
  }

  WorkPtr barrier(const c10d::BarrierOptions& options) override {
    auto body = [this, timeout = or_default(options.timeout)] { exchange_.barrier(timeout); };
    return call(OpType::BARRIER, {}, 0, options.asyncOp, std::move(body));
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
  // What the caller waits for at once, or is over soon, runs on its own thread: see
  // docs/decisions/0017. It never overtakes a call before it. `body` throws what the work shall.
  WorkPtr call(OpType type, Tensors outputs, std::size_t bytes, bool is_async,
               std::function<void()> body) {
    auto work =
        c10::make_intrusive<ExchangeWork>(getRank(), type, std::move(outputs), std::move(body));
    if ((!is_async || bytes <= kInlineBytes) && calls_.run_if_idle([&] { work->run(); })) {
      work->report();
    } else {
      calls_.add(with_state_of_this_thread([work] { work->run(); }),
                 with_state_of_this_thread([work] { work->report(); }));
    }
    return work;
  }

  // Whether operations record a graph, for example.
  template <typename Function>
  static std::function<void()> with_state_of_this_thread(Function function) {
    return [state = at::ThreadLocalState(), function = std::move(function)] {
      const at::ThreadLocalStateGuard guard(state);
      function();
    };
  }

  Timeout or_default(Timeout timeout) const {
    return timeout == c10d::kUnsetTimeout ? timeout_ : timeout;
  }

  c10d::Backend& gloo() {
    if (gloo_ == nullptr) gloo_ = make_gloo_();
    return *gloo_;
  }

  SharedMemoryExchange exchange_;  // Used by calls alone, but for its end.
  const MakeBackend make_gloo_;
  const Timeout timeout_;
  c10::intrusive_ptr<c10d::Backend> gloo_;
  CallQueue calls_;
};

}  // namespace

c10::intrusive_ptr<c10d::Backend> make_shared_memory_backend(
    std::unique_ptr<SharedMemorySegment> segment, MakeBackend make_gloo,
    std::chrono::milliseconds timeout) {
  return c10::make_intrusive<SharedMemoryBackend>(std::move(segment), std::move(make_gloo),
                                                  timeout);
}

}  // namespace accel
