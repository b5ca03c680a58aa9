#include "runtime/comm/shared_memory_backend.h"

#include <optional>
#include <utility>
#include <vector>

#include "runtime/comm/element_reduction.h"
#include "runtime/comm/ordered_works.h"
#include "runtime/comm/shared_memory_exchange.h"
#include "runtime/comm/shared_memory_wait.h"

namespace accel::runtime {
namespace {

using c10d::OpType;
using Tensors = std::vector<at::Tensor>;
using WorkPtr = c10::intrusive_ptr<c10d::Work>;
using Timeout = std::chrono::milliseconds;

// Up to this size, a call whose peers have arrived takes no longer than handing it to
// another thread would.
constexpr std::size_t kSmallBytes = 128 << 10;

// How long an asynchronous reduction waits for its peers on the caller's thread. This is longer
// than the time between the arrivals of equally fast ranks, and short enough that the caller can
// continue its backward pass if a peer is late.
constexpr Timeout kInlineWait(2);

bool is_plain(const at::Tensor& tensor) {
  return tensor.device().is_cpu() && tensor.layout() == at::kStrided && !tensor.is_complex();
}

// The elements of `tensor` in contiguous memory: its own, or a copy that commit() writes back.
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
  SharedMemoryBackend(std::shared_ptr<SharedMemorySegment> segment, MakeBackend make_gloo,
                      Timeout timeout)
      : Backend(segment->rank(), segment->world_size()),
        exchange_(std::move(segment)),
        make_gloo_(std::move(make_gloo)),
        timeout_(timeout),
        has_cores_(usable_cores() >= 2 * getSize()),
        works_(getRank()) {}

  // Makes unfinished calls fail, because their peers may never come.
  ~SharedMemoryBackend() override { exchange_.leave(); }

  const std::string getBackendName() const override { return "shared_memory"; }

  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    const ElementReduction reduction =
        tensors.size() == 1 && is_plain(tensors[0])
            ? element_reduction(tensors[0].scalar_type(), options.reduceOp)
            : ElementReduction{};
    if (reduction.function == nullptr) return gloo().allreduce(tensors, options);
    const bool is_mean = options.reduceOp == c10d::ReduceOp::AVG;
    auto body = [=, this, tensor = tensors[0], timeout = or_default(options.timeout),
                 packed = std::optional<Packed>()](bool may_wait) mutable {
      const auto elements = static_cast<std::size_t>(tensor.numel());
      if (packed) {
        exchange_.finish_all_reduce(packed->data(), elements, reduction);
      } else if (packed.emplace(tensor); may_wait) {
        exchange_.all_reduce(packed->data(), elements, reduction, timeout);
      } else if (!exchange_.try_all_reduce(packed->data(), elements, reduction, timeout,
                                           kInlineWait)) {
        return false;
      }
      packed->commit();
      if (is_mean) tensor.div_(getSize());
      return true;
    };
    const bool here = tensors[0].nbytes() <= kSmallBytes || !has_cores_;
    return works_.call(OpType::ALLREDUCE, tensors,
                       !options.asyncOp ? CallStart::kHere
                       : here           ? CallStart::kHereIfPeersCome
                                        : CallStart::kOnThread,
                       std::move(body));
  }

  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    if (tensors.size() != 1 || !is_plain(tensors[0])) return gloo().broadcast(tensors, options);
    const auto root = static_cast<int>(options.rootRank);
    auto body = [=, this, tensor = tensors[0], timeout = or_default(options.timeout)] {
      const Packed packed(tensor);
      exchange_.broadcast(packed.data(), packed.bytes(), root, timeout);
      if (root != getRank()) packed.commit();
    };
    return works_.call(OpType::BROADCAST, tensors, start_of(options, tensors[0].nbytes()),
                       whole(std::move(body)));
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
        TORCH_CHECK(one.bytes() == mine.bytes(), "the outputs must be as large as the input");
        outs.push_back(one.data());
      }
      TORCH_CHECK(static_cast<int>(outs.size()) == getSize(), "there must be one output per rank");
      exchange_.all_gather(mine.data(), outs, mine.bytes(), timeout);
      for (const Packed& one : theirs) one.commit();
    };
    return works_.call(OpType::ALLGATHER, outputs[0], start_of(options, inputs[0].nbytes()),
                       whole(std::move(body)));
  }

  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input,
                          const c10d::AllgatherOptions& options) override {
    if (!is_plain(input) || !is_plain(output)) {
      return gloo()._allgather_base(output, input, options);
    }
    auto body = [=, this, timeout = or_default(options.timeout)] {
      const Packed mine(input), all(output);
      TORCH_CHECK(all.bytes() == mine.bytes() * static_cast<std::size_t>(getSize()),
                  "the output must be as large as the inputs of all ranks");
      std::vector<void*> outs;
      for (int rank = 0; rank < getSize(); ++rank) {
        outs.push_back(static_cast<std::byte*>(all.data()) +
                       static_cast<std::size_t>(rank) * mine.bytes());
      }
      exchange_.all_gather(mine.data(), outs, mine.bytes(), timeout);
      all.commit();
    };
    return works_.call(OpType::_ALLGATHER_BASE, {output}, start_of(options, input.nbytes()),
                       whole(std::move(body)));
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
      TORCH_CHECK(inputs.size() == (is_root ? 1 : 0), "only the root must pass tensors");
      for (const at::Tensor& part : is_root ? inputs[0] : Tensors()) parts.emplace_back(part);
      for (const Packed& part : parts) {
        TORCH_CHECK(part.bytes() == mine.bytes(), "the parts must be as large as the output");
        slices.push_back(part.data());
      }
      TORCH_CHECK(!is_root || static_cast<int>(slices.size()) == getSize(),
                  "there must be one part per rank");
      exchange_.scatter(slices, mine.data(), mine.bytes(), root, timeout);
      mine.commit();
    };
    return works_.call(OpType::SCATTER, outputs, start_of(options, outputs[0].nbytes()),
                       whole(std::move(body)));
  }

  WorkPtr barrier(const c10d::BarrierOptions& options) override {
    auto body = [this, timeout = or_default(options.timeout)] { exchange_.barrier(timeout); };
    return works_.call(OpType::BARRIER, {}, start_of(options, 0), whole(std::move(body)));
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
    const ElementReduction reduction =
        is_plain(input) && is_plain(output) && input.scalar_type() == output.scalar_type()
            ? element_reduction(input.scalar_type(), options.reduceOp)
            : ElementReduction{};
    if (reduction.function == nullptr) return gloo()._reduce_scatter_base(output, input, options);
    const bool is_mean = options.reduceOp == c10d::ReduceOp::AVG;
    auto body = [=, this, timeout = or_default(options.timeout)] {
      const Packed all(input), mine(output);
      TORCH_CHECK(all.bytes() == mine.bytes() * static_cast<std::size_t>(getSize()),
                  "the input must be as large as the outputs of all ranks");
      exchange_.reduce_scatter(all.data(), mine.data(), static_cast<std::size_t>(output.numel()),
                               reduction, timeout);
      mine.commit();
      if (is_mean) output.div_(getSize());
    };
    return works_.call(OpType::_REDUCE_SCATTER_BASE, {output}, start_of(options, input.nbytes()),
                       whole(std::move(body)));
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
  template <typename Options>
  static CallStart start_of(const Options& options, std::size_t bytes) {
    return !options.asyncOp || bytes <= kSmallBytes ? CallStart::kHere : CallStart::kOnThread;
  }

  // Makes the body of a call that always waits for its peers, even if it is asked not to.
  template <typename Function>
  static CallBody whole(Function function) {
    return [function = std::move(function)](bool) {
      function();
      return true;
    };
  }

  Timeout or_default(Timeout timeout) const {
    return timeout == c10d::kUnsetTimeout ? timeout_ : timeout;
  }

  c10d::Backend& gloo() {
    if (gloo_ == nullptr) gloo_ = make_gloo_();
    return *gloo_;
  }

  SharedMemoryExchange exchange_;  // Only used inside of calls, except for abort() and leave().
  const MakeBackend make_gloo_;
  const Timeout timeout_;
  // True if there is a second core for each rank, on which the thread of works_ can run. If not,
  // that thread would compete with the rank's own thread for one core.
  const bool has_cores_;
  c10::intrusive_ptr<c10d::Backend> gloo_;
  OrderedWorks works_;
};

}  // namespace

c10::intrusive_ptr<c10d::Backend> make_shared_memory_backend(
    std::shared_ptr<SharedMemorySegment> segment, MakeBackend make_gloo,
    std::chrono::milliseconds timeout) {
  return c10::make_intrusive<SharedMemoryBackend>(std::move(segment), std::move(make_gloo),
                                                  timeout);
}

}  // namespace accel::runtime
