#include "runtime/comm/communicator.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/record_function.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <torch/csrc/distributed/c10d/comm.hpp>
#include <utility>

#include "runtime/comm/call_watch.h"
#include "runtime/comm/cpu_backend.h"
#include "runtime/comm/gloo_backend.h"
#include "runtime/comm/nccl_backend.h"
#include "runtime/error_text.h"

namespace accel {
namespace {

constexpr std::size_t kBroadcastBytes = 25 << 20;

// Each world has keys of its own: a launcher's store may outlive restarts (named as
// torch.distributed does), and a process may leave its world and join again.
std::string next_prefix(const Environment& environment) {
  static std::atomic<int> joined = 0;
  return "/worker/attempt_" + std::to_string(environment.restart_count) + "/world_" +
         std::to_string(joined++);
}

c10::intrusive_ptr<c10d::Store> open_store(const Environment& environment, bool may_serve,
                                           const std::string& prefix,
                                           std::chrono::milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = environment.master_port;
  options.timeout = timeout;
  if (may_serve && !environment.launcher_serves_store) {
    options.isServer = environment.rank == 0;
    options.numWorkers = environment.world_size;
  }
  return c10::make_intrusive<c10d::PrefixStore>(
      prefix, c10::make_intrusive<c10d::TCPStore>(environment.master_addr, options));
}

// Returns when all ranks have called it. Throws after the store's time-out.
void await_all(c10d::Store& store, int world_size) {
  if (store.add("arrived", 1) == world_size) store.set("complete", std::vector<std::uint8_t>{1});
  store.wait({"complete"});
}

// Over a connection of its own, since the world's own may be waiting for something else, which is
// opened when it is first needed.
class StoreBoard : public CallBoard {
 public:
  StoreBoard(Environment environment, std::string prefix)
      : environment_(std::move(environment)), prefix_(std::move(prefix)) {}

  void append(const std::string& key, const std::string& line) override {
    store().append(key, std::vector<std::uint8_t>(line.begin(), line.end()));
  }
  std::string read(const std::string& key) override {
    if (!store().check({key})) return "";
    const std::vector<std::uint8_t> bytes = store().get(key);
    return {bytes.begin(), bytes.end()};
  }

 private:
  c10d::Store& store() {
    if (store_ == nullptr) store_ = open_store(environment_, false, prefix_, kBoardTimeout);
    return *store_;
  }

  static constexpr std::chrono::milliseconds kBoardTimeout{2000};
  const Environment environment_;
  const std::string prefix_;
  c10::intrusive_ptr<c10d::Store> store_;
};

at::Tensor tensor_of(const std::string& bytes) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(bytes.size())}, at::kByte);
  std::copy(bytes.begin(), bytes.end(), tensor.mutable_data_ptr<std::uint8_t>());
  return tensor;
}

bool is_of_communication(const std::exception& error) {
  return is_gloo_error(error) || dynamic_cast<const c10::DistError*>(&error) != nullptr ||
         dynamic_cast<const CommunicationError*>(&error) != nullptr;
}

CommunicationError lost_peer(int rank, int size, const std::string& call, const std::string& absent,
                             const std::exception& error) {
  return CommunicationError("rank " + std::to_string(rank) + " of " + std::to_string(size) + ": " +
                            call + " failed because a peer is gone or did not take part in time" +
                            (absent.empty() ? "" : " (" + absent + ")") + ": " + error_text(error));
}

}  // namespace

// Destroyed in reverse order: what communicates goes before the store.
struct Communicator::Group {
  at::Device device{at::kCPU};
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<c10d::Backend> backend;
  c10::intrusive_ptr<c10d::ProcessGroup> process_group;

  std::unique_ptr<CallWatch> watch;
  std::chrono::milliseconds timeout{};
  const char* operation = nullptr;  // What the user called, if it is known.
  bool is_open = false;

  // Runs one call of this rank. Errors that are not of the communication come out as they are, and
  // at once.
  template <typename Body>
  void watched(const char* call, Body&& body) {
    if (is_open) return body();  // A part of the call that is open.
    const std::string name =
        operation == nullptr ? call : std::string(operation) + " (" + call + ")";
    RECORD_USER_SCOPE(name);  // For traces of the profiler.
    is_open = true;
    watch->begin(name);
    try {
      body();
    } catch (const std::exception& error) {
      const bool is_lost = dynamic_cast<const PeerLost*>(&error) != nullptr;
      const bool is_ours = !is_of_communication(error);
      const std::string absent = is_ours ? "" : watch->explain(is_lost ? 1 : 0);
      watch->end();
      is_open = false;
      if (is_ours) throw;
      throw lost_peer(backend->getRank(), backend->getSize(), name, absent, error);
    }
    watch->end();
    is_open = false;
  }

  // The same until the result is there.
  template <typename Body>
  void run(const char* call, Body&& body) {
    watched(call, [&] {
      body();
      if (device.is_cuda()) await_gpu();
    });
  }

  // NCCL's calls only order the stream; one that a peer stays away from would block whoever looks
  // at its result next, without an error.
  void await_gpu() {
    const c10::impl::VirtualGuardImpl guard(device.type());
    c10::Event done(device.type());
    done.record(guard.getStream(device));
    const auto begun = std::chrono::steady_clock::now();
    const auto limit = timeout - std::min(timeout / 10, kBeforeWatchdog);
    while (!done.query()) {
      const auto waited = std::chrono::steady_clock::now() - begun;
      if (waited > limit) {
        backend->abort();
        throw CommunicationError("the GPU did not finish it within " +
                                 std::to_string(limit.count()) + " ms");
      }
      if (waited > kSpin) std::this_thread::sleep_for(kSpin);
    }
  }

  // NCCL's own watchdog ends the process at the time-out, which says less than an error.
  static constexpr std::chrono::milliseconds kBeforeWatchdog{1000};
  static constexpr std::chrono::microseconds kSpin{50};
};

std::shared_ptr<Communicator> Communicator::join(const Environment& environment,
                                                 const at::Device& device,
                                                 std::chrono::milliseconds timeout) {
  auto group = std::make_unique<Group>();
  group->device = device;
  group->timeout = timeout;
  const std::string prefix = next_prefix(environment);
  try {
    group->store = open_store(environment, true, prefix, timeout);
    group->backend = device.is_cuda()
                         ? make_nccl_backend(group->store, environment, device, timeout)
                         : make_cpu_backend(group->store, environment, timeout);
    // Who is done at once must not break the connections that others are still making. NCCL makes
    // its own in the first call, without a time-out: none begins before all ranks are here.
    if (device.is_cuda()) {
      await_all(*group->store, environment.world_size);
    } else {
      group->backend->barrier()->wait();
    }
  } catch (const std::exception& error) {
    throw lost_peer(environment.rank, environment.world_size,
                    "joining the world at " + environment.master_addr + ":" +
                        std::to_string(environment.master_port),
                    "", error);
  }
  group->watch = std::make_unique<CallWatch>(environment.rank, environment.world_size,
                                             std::make_unique<StoreBoard>(environment, prefix));
  const auto type = device.is_cuda() ? c10d::ProcessGroup::BackendType::NCCL
                                     : c10d::ProcessGroup::BackendType::GLOO;
  group->process_group = c10::make_intrusive<c10d::ProcessGroup>(group->store, environment.rank,
                                                                 environment.world_size);
  group->process_group->setDefaultBackend(type);
  group->process_group->setBackend(device.type(), type, group->backend);
  return std::shared_ptr<Communicator>(new Communicator(std::move(group)));
}

Communicator::Communicator(std::unique_ptr<Group> group) : group_(std::move(group)) {}

Communicator::~Communicator() = default;

int Communicator::rank() const { return group_->backend->getRank(); }

int Communicator::size() const { return group_->backend->getSize(); }

void Communicator::all_reduce_sum(at::Tensor tensor) {
  std::vector<at::Tensor> tensors{std::move(tensor)};
  group_->run("all_reduce", [&] { group_->backend->allreduce(tensors)->wait(); });
}

void Communicator::all_reduce_max(at::Tensor tensor) {
  std::vector<at::Tensor> tensors{std::move(tensor)};
  c10d::AllreduceOptions options;
  options.reduceOp = c10d::ReduceOp::MAX;
  group_->run("all_reduce", [&] { group_->backend->allreduce(tensors, options)->wait(); });
}

at::Tensor Communicator::all_gather(const at::Tensor& tensor) {
  at::Tensor mine = tensor.detach().contiguous();
  if (mine.dim() == 0) mine = mine.unsqueeze(0);
  std::vector<std::int64_t> shape = mine.sizes().vec();
  shape[0] *= size();
  at::Tensor all = at::empty(shape, mine.options());
  group_->run("all_gather", [&] { group_->backend->_allgather_base(all, mine)->wait(); });
  return all;
}

void Communicator::broadcast(const std::vector<at::Tensor>& tensors, int from) {
  if (tensors.empty()) return;
  group_->run("broadcast", [&] {
    c10d::broadcast_coalesced(group_->process_group, tensors, kBroadcastBytes, from);
  });
}

std::vector<std::int64_t> Communicator::all_gather_number(std::int64_t number) {
  const at::Tensor all = all_gather(at::full({1}, number, at::kLong).to(group_->device)).cpu();
  const auto* numbers = all.const_data_ptr<std::int64_t>();
  return {numbers, numbers + all.numel()};
}

at::Tensor Communicator::scatter(const std::vector<std::int64_t>& shape, at::ScalarType dtype,
                                 const std::vector<at::Tensor>& slices) {
  std::vector<at::Tensor> outputs{at::empty(shape, at::TensorOptions(group_->device).dtype(dtype))};
  std::vector<std::vector<at::Tensor>> inputs;
  if (rank() == 0) inputs.push_back(slices);
  group_->run("scatter", [&] { group_->backend->scatter(outputs, inputs)->wait(); });
  return outputs.front();
}

std::int64_t Communicator::broadcast_number(std::int64_t number) {
  return broadcast_numbers({number}).front();
}

std::vector<std::int64_t> Communicator::broadcast_numbers(
    const std::vector<std::int64_t>& numbers) {
  const at::Tensor shared = at::tensor(numbers, at::kLong).to(group_->device);
  broadcast({shared});
  const at::Tensor mine = shared.cpu();
  const auto* begin = mine.const_data_ptr<std::int64_t>();
  return {begin, begin + mine.numel()};
}

std::vector<std::string> Communicator::all_gather_bytes(const std::string& bytes) {
  const std::vector<std::int64_t> sizes =
      all_gather_number(static_cast<std::int64_t>(bytes.size()));
  const std::int64_t largest = *std::max_element(sizes.begin(), sizes.end());
  std::string padded = bytes;
  padded.resize(static_cast<std::size_t>(largest));
  const at::Tensor all = all_gather(tensor_of(padded).to(group_->device)).cpu();
  std::vector<std::string> out;
  for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
    const auto* start = reinterpret_cast<const char*>(all.const_data_ptr<std::uint8_t>()) +
                        static_cast<std::int64_t>(rank) * largest;
    out.emplace_back(start, static_cast<std::size_t>(sizes[rank]));
  }
  return out;
}

std::string Communicator::broadcast_bytes(const std::string& bytes, int from) {
  const at::Tensor size =
      at::full({1}, static_cast<std::int64_t>(bytes.size()), at::kLong).to(group_->device);
  broadcast({size}, from);
  std::string shared = bytes;
  shared.resize(static_cast<std::size_t>(size.item<std::int64_t>()));
  const at::Tensor data = tensor_of(shared).to(group_->device);
  broadcast({data}, from);
  const at::Tensor here = data.cpu();
  return {reinterpret_cast<const char*>(here.const_data_ptr<std::uint8_t>()), shared.size()};
}

// NCCL's own barrier blocks this thread until the GPU is done, beyond any time-out.
void Communicator::barrier() {
  group_->run("barrier", [&] {
    if (group_->device.is_cuda()) {
      std::vector<at::Tensor> tensors{at::ones({1}, group_->device)};
      group_->backend->allreduce(tensors)->wait();
    } else {
      group_->backend->barrier()->wait();
    }
  });
}

void Communicator::run_call(const char* call, const std::function<void()>& body) {
  group_->watched(call, body);
}

void Communicator::note_failure(const std::string& text) { group_->watch->note_failure(text); }

OperationScope::OperationScope(Communicator* communicator, const char* operation)
    : communicator_(communicator),
      outer_(communicator == nullptr ? nullptr
                                     : std::exchange(communicator->group_->operation, operation)) {}

OperationScope::~OperationScope() {
  if (communicator_ != nullptr) communicator_->group_->operation = outer_;
}

const c10::intrusive_ptr<c10d::ProcessGroup>& Communicator::process_group() const {
  return group_->process_group;
}

}  // namespace accel
