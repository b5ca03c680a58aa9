#include "runtime/comm/communicator_group.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "runtime/comm/cpu_backend.h"
#include "runtime/comm/departure.h"
#include "runtime/comm/gloo_backend.h"
#include "runtime/comm/nccl_backend.h"
#include "runtime/error_text.h"

namespace accel {
namespace {

// NCCL's own watchdog ends the process, which says less than an error: it comes after ours.
constexpr std::chrono::milliseconds kBeforeWatchdog = std::chrono::seconds(30);
// For ranks that still work when this one is done, such as one that evaluates alone.
constexpr std::chrono::milliseconds kLongestFarewell = std::chrono::seconds(60);

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

std::string joined_key(int rank) { return "joined_" + std::to_string(rank); }

// "rank 1, rank 3": those that have not begun to join, as far as the store can be reached.
std::string not_joined(c10d::Store& store, int world_size) {
  std::string missing;
  try {
    for (int rank = 0; rank < world_size; ++rank) {
      if (store.check({joined_key(rank)})) continue;
      missing += (missing.empty() ? "rank " : ", rank ") + std::to_string(rank);
    }
  } catch (const std::exception&) {
    return "";
  }
  return missing.empty() ? "" : missing + " has not begun to";
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

DepartureBoard departure_board(c10d::Store& store) {
  static constexpr char kDecision[] = "departure";
  return {.arrive = [&store] { return store.add("leaving", 1); },
          .decide =
              [&store](bool together) {
                const std::string mine = together ? "together" : "alone";
                return store.compareSet(kDecision, "", mine) == "together";
              },
          .await_decision =
              [&store](std::chrono::milliseconds limit) {
                try {
                  store.wait({kDecision}, limit);
                } catch (const c10::DistStoreError&) {
                  // The limit is over.
                }
              }};
}

bool is_of_communication(const std::exception& error) {
  return is_gloo_error(error) || dynamic_cast<const c10::DistError*>(&error) != nullptr ||
         dynamic_cast<const CommunicationError*>(&error) != nullptr;
}

// What a call says that failed: who was `absent`, as far as that is known, and the backend's
// reason.
std::string failure_text(int rank, int size, const std::string& call, const char* cause,
                         const std::string& absent, const std::string& reason) {
  return "rank " + std::to_string(rank) + " of " + std::to_string(size) + ": " + call +
         " failed because " + cause + (absent.empty() ? "" : " (" + absent + ")") + ": " + reason;
}

CommunicationError lost_peer(int rank, int size, const std::string& call, const std::string& absent,
                             const std::string& reason) {
  return CommunicationError(failure_text(
      rank, size, call, "a peer is gone or did not take part in time", absent, reason));
}

CallsDiffer differing_calls(int rank, int size, const std::string& call, const std::string& absent,
                            const std::string& reason, const char* advice) {
  return CallsDiffer(
      failure_text(rank, size, call, "the ranks do not fit together", absent, reason) + advice);
}

}  // namespace

std::shared_ptr<Communicator> Communicator::join(const Environment& environment,
                                                 const at::Device& device,
                                                 std::chrono::milliseconds timeout) {
  auto group = std::make_unique<Group>();
  group->device = device;
  group->timeout = timeout;
  const std::string prefix = next_prefix(environment);
  try {
    group->store = open_store(environment, true, prefix, timeout);
    group->store->set(joined_key(environment.rank), std::vector<std::uint8_t>{1});
    group->backend = device.is_cuda()
                         ? make_nccl_backend(group->store, environment, timeout + kBeforeWatchdog)
                         : make_cpu_backend(group->store, environment, timeout);
    // Who is done at once must not break the connections that others are still making. NCCL makes
    // its own without a time-out: none begins before all ranks are here, and none in a call that
    // some ranks may not reach.
    if (device.is_cuda()) {
      await_all(*group->store, environment.world_size);
      group->backend->eagerConnectSingleDevice(device);
    } else {
      group->backend->barrier()->wait();
    }
  } catch (const std::exception& error) {
    throw lost_peer(
        environment.rank, environment.world_size,
        "joining the world at " + environment.master_addr + ":" +
            std::to_string(environment.master_port),
        group->store == nullptr ? "" : not_joined(*group->store, environment.world_size),
        error_text(error));
  }
  group->watch = std::make_unique<CallWatch>(environment.rank, environment.world_size,
                                             std::make_unique<StoreBoard>(environment, prefix));
  const auto type = device.is_cuda() ? c10d::ProcessGroup::BackendType::NCCL
                                     : c10d::ProcessGroup::BackendType::GLOO;
  group->process_group = c10::make_intrusive<c10d::ProcessGroup>(group->store, environment.rank,
                                                                 environment.world_size);
  group->process_group->setDefaultBackend(type);
  if (device.is_cuda()) group->process_group->setBoundDeviceId(device);
  group->process_group->setBackend(device.type(), type, group->backend);
  if (device.is_cuda()) group->watch_queue();
  return std::shared_ptr<Communicator>(new Communicator(std::move(group)));
}

void Communicator::Group::watched(const char* call, const Body& body) {
  if (is_open) return body();  // A part of the call that is open.
  if (queue != nullptr) queue->check();
  const std::string name = operation == nullptr ? call : std::string(operation) + " (" + call + ")";
  RECORD_USER_SCOPE(name);  // For traces of the profiler.
  is_open = true;
  watch->begin(name);
  try {
    queue != nullptr ? with_limit(body) : body();
  } catch (const std::exception& error) {
    is_open = false;
    if (!is_of_communication(error)) {
      watch->cancel();
      throw;
    }
    watch->end();
    if (queue != nullptr) queue->check();  // What gave the call up knows why.
    const bool is_lost = dynamic_cast<const PeerLost*>(&error) != nullptr;
    const std::string absent = watch->explain(watch->current(), is_lost ? 1 : 0);
    const std::string reason = error_text(error);
    const int rank = backend->getRank(), size = backend->getSize();
    if (dynamic_cast<const CallsDiffer*>(&error) == nullptr) {
      throw lost_peer(rank, size, name, absent, reason);
    }
    throw differing_calls(rank, size, name, absent, reason, advice);
  } catch (...) {
    is_open = false;
    watch->cancel();
    throw;
  }
  watch->end();
  is_open = false;
}

// NCCL's host side waits without limit as well: for peers to connect to, in the first calls.
void Communicator::Group::with_limit(const Body& body) {
  struct Return {
    ~Return() { *has_returned = true; }
    const std::shared_ptr<std::atomic<bool>> has_returned =
        std::make_shared<std::atomic<bool>>(false);
  };
  const Return at_end;
  queue->add(watch->current(),
             [has_returned = at_end.has_returned] { return has_returned->load(); });
  body();
}

void Communicator::Group::run(const char* call, const Body& body) {
  watched(call, [&] {
    body();
    if (queue != nullptr) queue->wait_for(note_queued());
  });
}

void Communicator::Group::enqueue(const char* call, const Body& body) {
  watched(call, [&] {
    body();
    if (queue != nullptr) note_queued();
  });
}

void Communicator::Group::check_device(const at::Tensor& tensor) const {
  if (!device.is_cuda() || tensor.device() == device) return;
  throw std::invalid_argument("a tensor on " + tensor.device().str() +
                              " cannot be exchanged by ranks that communicate on " + device.str() +
                              ": move it with .to(accelerator.device())");
}

// All that the current stream has been given so far.
QueuedCalls::Done Communicator::Group::note_queued() {
  const auto event = std::make_shared<c10::Event>(device.type());
  event->record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
  const QueuedCalls::Done done = [event] { return event->query(); };
  queue->add(watch->current(), done);
  return done;
}

void Communicator::Group::watch_queue() {
  QueuedCalls::Link link{
      // A new thread is on the first GPU, whichever is this rank's.
      .enter = [this] { c10::impl::VirtualGuardImpl(device.type()).setDevice(device); },
      .is_broken = [this] { return backend->getError() != c10d::ErrorType::SUCCESS; },
      .give_up = [this](const NumberedCall& call,
                        const std::string& reason) { return give_up(call, reason); }};
  queue = std::make_unique<QueuedCalls>(std::move(link), QueuedCalls::Pace{.limit = timeout});
}

std::string Communicator::Group::give_up(const NumberedCall& call, const std::string& reason) {
  const std::string text =
      lost_peer(backend->getRank(), backend->getSize(), call.text, watch->explain(call), reason)
          .what();
  // It may take long until the program makes a call that throws it.
  std::cerr << "accel: " << text << std::endl;
  try {
    backend->abort();
  } catch (const std::exception& error) {
    std::cerr << "accel: NCCL cannot be aborted: " << error_text(error) << std::endl;
  }
  return text;
}

// NCCL tears a communicator down together with the other ranks, for which it waits without limit,
// and one that is torn down alone may take along what others have still to receive from it. So the
// ranks meet first, each with its own work done; one that fails does not wait.
void Communicator::Group::leave() {
  const DepartureBoard board = departure_board(*store);
  try {
    bool together = false;
    if (std::uncaught_exceptions() == 0) {
      queue->wait_for_all();
      together = depart_together(board, backend->getSize(), std::min(timeout, kLongestFarewell));
    }
    if (together) return backend->shutdown();
    depart_alone(board);
    backend->abort();
  } catch (const CallGivenUp&) {
    depart_alone(board);  // NCCL has been aborted.
  } catch (const std::exception& error) {
    std::cerr << "accel: NCCL did not end well: " << error_text(error) << std::endl;
  }
}

}  // namespace accel
