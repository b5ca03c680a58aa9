// How a rank joins a world, runs its calls, and leaves the world.
//
// Joining. The ranks meet in the world's store, under keys that belong to this world alone:
//
//   1. Each rank sets "joined_R", so that an error can name the ranks that have not begun to join.
//   2. Each rank makes its CPU backend. If all ranks are on one host, they negotiate a segment of
//      shared memory (shared_memory_join.h). Otherwise Gloo connects every pair of ranks.
//   3. All ranks meet in a first barrier. Without it, a rank could finish early and exit, which
//      would break the connections that other ranks are still making. It also shows that every rank
//      has arrived, which NCCL needs, because it connects without a timeout.
//   4. On GPUs each rank then makes NCCL's backend and connects it immediately. If the first
//      collective connected it, a rank that never makes this collective would block the others
//      where no timeout applies.
//
// Two backends on GPUs. NCCL exchanges the tensors of GPUs, in the order of a stream. All data of
// the hosts, such as numbers, errors and barriers, goes through the CPU backend. Over NCCL it would
// wait for all work that the GPU has been given before (docs/decisions/0048).
//
// Calls. Collectives nest: the user's gather() runs an all-gather, and a backward pass runs many
// all-reduces. Only the outermost one is a call, with a number, a name such as "gather
// (all_gather)", and one limit (docs/decisions/0021). On a GPU the host waits in two places where
// NCCL itself has no limit: for a queued call, and inside NCCL while it connects. QueuedCalls
// watches both, and aborts NCCL after the timeout.
//
// Leaving. Only NCCL needs a protocol. Its shutdown blocks without a limit until the other ranks
// shut down too. Its abort on one rank can discard data that another rank has yet to receive. So
// the ranks agree first, over the store (departure.h):
//
//   - If all ranks finish their work and arrive, all of them shut NCCL down together.
//   - If a rank fails, or does not arrive within the timeout or 60 s, whichever is shorter, each
//     rank that has arrived aborts NCCL without waiting for the others.
//
// Shared memory and Gloo need no agreement, because a peer that waits for this rank gets an error.
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
#include "runtime/comm/unseen_failure.h"
#include "runtime/comm/world_store.h"
#include "runtime/error_text.h"

namespace accel::runtime {
namespace {

// Added to the timeout of LibTorch's own NCCL watchdog. Our watchdog throws an error that names
// the missing ranks, so it must act first. A submitter may have set LibTorch's watchdog to end
// the process (runtime/nccl/watchdog_settings.h).
constexpr std::chrono::milliseconds kBeforeWatchdog = std::chrono::seconds(30);
// The longest time that a leaving rank waits for ranks that are still working, such as a rank
// that evaluates alone.
constexpr std::chrono::milliseconds kLongestFarewell = std::chrono::seconds(60);

bool is_of_communication(const std::exception& error) {
  return is_gloo_error(error) || dynamic_cast<const c10::DistError*>(&error) != nullptr ||
         dynamic_cast<const CommunicationError*>(&error) != nullptr;
}

// Builds the text of a failed call's error. `absent` describes the missing ranks, and is empty if
// they are not known. `reason` is the backend's error.
std::string failure_text(int rank, int size, const std::string& call, const char* cause,
                         const std::string& absent, const std::string& reason) {
  return "rank " + std::to_string(rank) + " of " + std::to_string(size) + ": " + call +
         " failed because " + cause + (absent.empty() ? "" : " (" + absent + ")") + ": " + reason;
}

std::string text_of_ended(const std::vector<int>& ranks) {
  std::string text;
  for (const int rank : ranks) {
    text += (text.empty() ? "rank " : ", rank ") + std::to_string(rank);
  }
  if (ranks.size() < 2) return text + " is gone: its process has ended";
  return text + " are gone: their processes have ended";
}

CommunicationError lost_peer_error(int rank, int size, const std::string& call,
                                   const std::string& absent, const std::string& reason) {
  return CommunicationError(failure_text(
      rank, size, call, "a peer is gone or did not take part in time", absent, reason));
}

CallsDiffer differing_calls_error(int rank, int size, const std::string& call,
                                  const std::string& absent, const std::string& reason,
                                  const char* advice) {
  return CallsDiffer(
      failure_text(rank, size, call, "the ranks' calls do not match", absent, reason) + advice);
}

}  // namespace

std::shared_ptr<Communicator> Communicator::join(const Environment& environment,
                                                 const at::Device& device,
                                                 std::chrono::milliseconds timeout,
                                                 const MakeGpuBackend& make_gpu_backend) {
  return join_world({.environment = environment,
                     .prefix = next_world_prefix(environment),
                     .device = device,
                     .timeout = timeout,
                     .make_gpu_backend = make_gpu_backend,
                     .name = ""});
}

std::shared_ptr<Communicator> Communicator::split(std::int64_t color) {
  World part = group_->world;
  part.environment.launcher_serves_store =
      true;  // The store of this world, which rank 0 may serve.
  part.environment.world_size = 0;
  part.name = " (ranks ";
  const std::vector<std::int64_t> colors = all_gather_number(color);
  for (int rank = 0; rank < size(); ++rank) {
    if (colors[static_cast<std::size_t>(rank)] != color) continue;
    if (rank == this->rank()) part.environment.rank = part.environment.world_size;
    part.name += (part.environment.world_size++ == 0 ? "" : ", ") + std::to_string(rank);
  }
  part.name += ")";
  part.prefix += "/split_" + std::to_string(group_->splits++) + "/" + std::to_string(color);
  return part.environment.world_size == 1 ? nullptr : join_world(part);
}

std::shared_ptr<Communicator> Communicator::join_world(const World& world) {
  const Environment& environment = world.environment;
  const at::Device device = world.device;
  const std::chrono::milliseconds timeout = world.timeout;
  const bool has_gpu = !device.is_cpu();
  auto group = std::make_unique<Group>();
  group->world = world;
  group->device = device;
  group->timeout = timeout;
  try {
    group->store = open_store(environment, true, world.prefix, timeout);
    note_joining(*group->store, environment.rank);
    CpuBackend between_hosts = make_cpu_backend(group->store, environment, timeout);
    group->control = std::move(between_hosts.backend);
    group->ended_ranks = std::move(between_hosts.ended_ranks);
    group->control->barrier()->wait();  // See "Joining" above.
    if (has_gpu) {
      const MakeGpuBackend make =
          world.make_gpu_backend == nullptr ? make_nccl_backend : world.make_gpu_backend;
      group->backend = make(group->store, environment, timeout + kBeforeWatchdog);
      group->backend->eagerConnectSingleDevice(device);
    }
  } catch (const std::exception& error) {
    throw lost_peer_error(
        environment.rank, environment.world_size,
        "joining the world at " + environment.master_addr + ":" +
            std::to_string(environment.master_port) + world.name,
        group->store == nullptr ? "" : not_joined(*group->store, environment.world_size),
        error_text(error));
  }
  group->watch = std::make_unique<CallWatch>(environment.rank, environment.world_size,
                                             make_store_board(environment, world.prefix));
  using BackendType = c10d::ProcessGroup::BackendType;
  group->process_group = c10::make_intrusive<c10d::ProcessGroup>(group->store, environment.rank,
                                                                 environment.world_size);
  group->process_group->setDefaultBackend(has_gpu ? BackendType::NCCL : BackendType::GLOO);
  group->process_group->setBackend(c10::kCPU, BackendType::GLOO, group->control);
  if (has_gpu) {
    group->process_group->setBackend(device.type(), BackendType::NCCL, group->backend);
    group->process_group->setBoundDeviceId(device);
    group->watch_queue();
    watch_exit_code();
  }
  return std::shared_ptr<Communicator>(new Communicator(std::move(group)));
}

// Returns "gather (all_gather)", or "all_gather" if the user's call is not known.
std::string Communicator::Group::name_of(const char* call) const {
  const std::string name = operation == nullptr ? call : std::string(operation) + " (" + call + ")";
  return name + world.name;
}

void Communicator::Group::check_queue() {
  if (queue == nullptr) return;
  try {
    queue->check();
  } catch (const CallGivenUp&) {
    has_thrown = true;
    throw;
  }
}

void Communicator::Group::watched(const char* call, const Body& body) {
  if (is_open) return body();  // This is a part of the open call.
  check_queue();
  const std::string name = name_of(call);
  RECORD_USER_SCOPE(name);  // Names the call in traces of the profiler.
  is_open = true;
  watch->begin(name);
  try {
    body();
  } catch (const std::exception& error) {
    is_open = false;
    if (!is_of_communication(error)) {
      watch->cancel();
      throw;
    }
    watch->end();
    // If the watchdog aborted the call, its error is the cause, and NCCL's error is a consequence.
    check_queue();
    const bool is_lost = dynamic_cast<const PeerLost*>(&error) != nullptr;
    const std::string absent = watch->explain(watch->current(), [&] { return is_lost ? 1 : 0; });
    const std::string reason = error_text(error);
    const int rank = control->getRank(), size = control->getSize();
    if (dynamic_cast<const CallsDiffer*>(&error) == nullptr) {
      throw lost_peer_error(rank, size, name, absent, reason);
    }
    throw differing_calls_error(rank, size, name, absent, reason, advice);
  } catch (...) {
    is_open = false;
    watch->cancel();
    throw;
  }
  watch->end();
  is_open = false;
}

// Runs `body` under the watchdog, because NCCL can block the host without a limit as well. The
// first call between two ranks connects them.
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

void Communicator::Group::run(const char* call, const Body& body) { watched(call, body); }

void Communicator::Group::enqueue(const char* call, const Body& body) {
  watched(call, [&] {
    with_limit(body);
    note_queued();
  });
}

// Leaves a note for the peers. They have ended this call as well, so they wait for this rank in
// their next call. For the same reason the board cannot name missing ranks.
void Communicator::Group::fail_differing(const char* call, const std::string& reason) {
  const std::string name = name_of(call);
  watch->note_failure(name + ", which failed because the ranks' calls do not match,");
  throw differing_calls_error(control->getRank(), control->getSize(), name, "", reason, advice);
}

Communicator::Group::Place Communicator::Group::place_of(
    const std::vector<at::Tensor>& tensors) const {
  Place place{.backend = control.get(), .is_async = false};
  for (const at::Tensor& tensor : tensors) {
    if (tensor.is_cpu()) continue;
    if (tensor.device() != device) {
      throw std::invalid_argument("a tensor on " + tensor.device().str() +
                                  " cannot be exchanged by ranks that communicate on " +
                                  device.str() + ": move it with .to(accelerator.device())");
    }
    place = {.backend = backend.get(), .is_async = true};
  }
  return place;
}

// Adds all work that the current stream has been given so far to the watchdog, as one call.
void Communicator::Group::note_queued() {
  const auto event = std::make_shared<c10::Event>(device.type());
  event->record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
  queue->add(watch->current(), [event] { return event->query(); });
}

void Communicator::Group::watch_queue() {
  QueuedCalls::Link link{
      // A new thread starts on GPU 0, regardless of this rank's device.
      .enter = [this] { c10::impl::VirtualGuardImpl(device.type()).setDevice(device); },
      .failure = [this] { return failure_of_link(); },
      .give_up = [this](const NumberedCall& call,
                        const std::string& reason) { return give_up(call, reason); }};
  queue = std::make_unique<QueuedCalls>(std::move(link), QueuedCalls::Pace{.limit = timeout});
}

// Runs on the watchdog's thread. Asks the kernel first, because NCCL does not notice the death of a
// peer with which it communicates over shared memory or an NVLink.
std::string Communicator::Group::failure_of_link() const {
  if (const std::vector<int> ended = ended_ranks(); !ended.empty()) return text_of_ended(ended);
  const bool broke = backend->getError() != c10d::ErrorType::SUCCESS;
  return broke ? "the connection to a peer broke" : "";
}

// Runs on the watchdog's thread.
std::string Communicator::Group::give_up(const NumberedCall& call, const std::string& reason) {
  const std::string absent =
      watch->explain(call, [this] { return static_cast<int>(ended_ranks().size()); });
  // NCCL may have noticed that the connection broke before the kernel had ended the peer's process.
  const std::vector<int> ended = ended_ranks();
  const std::string text = lost_peer_error(control->getRank(), control->getSize(), call.text,
                                           absent, ended.empty() ? reason : text_of_ended(ended))
                               .what();
  // Logged now, because it may take long until the program makes a call that throws the error.
  std::cerr << "accel: " << text << std::endl;
  try {
    backend->abort();
  } catch (const std::exception& error) {
    std::cerr << "accel: cannot abort NCCL: " << error_text(error) << std::endl;
  }
  return text;
}

// See "Leaving" at the top of this file.
void Communicator::Group::leave() {
  const DepartureStore departure = departure_store(*store);
  try {
    bool together = false;
    if (std::uncaught_exceptions() == 0) {
      queue->wait_for_all();
      // A rank that has ended will not take part, so waiting for it would take the whole limit.
      together = ended_ranks().empty() && depart_together(departure, control->getSize(),
                                                          std::min(timeout, kLongestFarewell));
    }
    if (together) return backend->shutdown();
    depart_alone(departure);
    backend->abort();
  } catch (const CallGivenUp&) {
    depart_alone(departure);  // The watchdog has aborted NCCL already.
    if (!has_thrown) fail_at_exit();
  } catch (const std::exception& error) {
    std::cerr << "accel: cannot shut down NCCL: " << error_text(error) << std::endl;
  }
}

}  // namespace accel::runtime
