// The protocol in which ranks exchange data through shared memory.
//
// The problem. Several processes must pass megabytes to one another many times a second. There is
// no server, and no system call is needed when all are on time. A slot must never be read before it
// is written, or overwritten before it is read. A process can be killed at any instruction, so
// nothing may depend on a lock that its holder releases.
//
// The approach. Each rank has a part of the segment that its peers only read: two slots of data,
// and one word, its progress. All calls consist of rounds. Every rank counts the same rounds,
// because all ranks make the same calls. In round r, a rank
//
//   1. waits until the progress of every peer shows that it has published round r-1,
//   2. writes its data to slot r mod 2,
//   3. sets its progress to 2r-1, which publishes the data,
//   4. waits for the progress of the peers whose data it needs, and reads their slots,
//   5. in an all-reduce of a large tensor, writes results to its slot, sets its progress to 2r, and
//      reads the peers' results when their progress is 2r as well.
//
// clang-format off
//   round                 1         2         3         4
//   slot                  1         0         1         0
//   progress, published   1         3         5         7
//   progress, results     2         4         6         8
// clang-format on
//
// No slot is overwritten too early. Slot r mod 2 was last used in round r-2. A peer publishes round
// r-1 only after it has read all that it needs of round r-2, and step 1 waits for exactly that.
// With one slot per rank, each round would need a second wait, until every peer has read the slot.
// With two slots, the wait of step 1 is usually over before it begins. A rank that has read its
// peers' slots of round r-1 knows that they have published it. Only a root, which reads nothing,
// can be a round ahead.
//
// There is no deadlock. A rank can publish round r once all ranks have published round r-1, and
// reads only what is published in round r. So, by induction, every rank can finish every round.
//
// Calls that differ. In addition to its data, each rank publishes its call (SharedCall). A rank
// compares its peers' calls with its own before it reads their slots. So two ranks in different
// calls both get an error that names both calls, instead of a mixture of their data. The root of a
// broadcast reads no slot, so it compares in the next round.
//
// Death. A rank that waits spins for up to 100 µs, and then sleeps in the kernel until a peer wakes
// it. Every 50 ms it checks its peers. A peer that has left or given up has written that down, and
// the kernel knows whether a process is alive (SharedMemorySegment). Data that a rank published
// before it died still counts, so the order of these reads matters: see check_peers().
//
// docs/decisions/0017 has the reasons for using shared memory.
#include "runtime/comm/shared_memory_exchange.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace accel::runtime {
namespace {

using Clock = std::chrono::steady_clock;

// The time in which a waiting rank notices that a peer has gone.
constexpr std::chrono::milliseconds kLookAtPeersEvery(50);

std::string text_of(const SharedCall& call) {
  constexpr const char* kNames[] = {"all_reduce", "broadcast", "all_gather",
                                    "scatter",    "barrier",   "reduce_scatter"};
  std::string text = call.kind < std::size(kNames) ? kNames[call.kind] : "unknown call";
  if (call.kind == SharedMemoryExchange::kBarrier) return text;
  text += " of " + std::to_string(call.bytes) + " bytes";
  if (call.kind == SharedMemoryExchange::kBroadcast ||
      call.kind == SharedMemoryExchange::kScatter) {
    text += " from rank " + std::to_string(call.root);
  }
  return text;
}

}  // namespace

SharedMemoryExchange::SharedMemoryExchange(std::shared_ptr<SharedMemorySegment> segment)
    : segment_(std::move(segment)),
      spin_(spin_time(segment_->world_size())),
      scratch_(std::make_unique<std::byte[]>(kBlockBytes)),
      sources_(static_cast<std::size_t>(segment_->world_size())) {}

SharedMemoryExchange::~SharedMemoryExchange() { depart(kLeft); }

// Keeps the first reason: a rank that leaves after an error has given up.
void SharedMemoryExchange::depart(Departure how) {
  std::uint32_t present = kPresent;
  segment_->mine().departure.compare_exchange_strong(present, how);
}

void SharedMemoryExchange::abort() {
  depart(kGaveUp);
  aborted_ = true;
}

void SharedMemoryExchange::leave() {
  depart(kLeft);
  aborted_ = true;
}

void SharedMemoryExchange::begin_call(const SharedCall& call, Timeout timeout) {
  ++number_;
  call_ = call;
  timeout_ = timeout;
  deadline_ = Clock::now() + timeout;
  if (!failure_.empty()) fail("an earlier call failed: " + failure_);
}

void SharedMemoryExchange::check_not_aborted() const {
  if (aborted_) fail("it was aborted");
}

void SharedMemoryExchange::note_failure(const CommunicationError& error) {
  failure_ = error.what();
  depart(kGaveUp);
}

void SharedMemoryExchange::broadcast(void* data, std::size_t bytes, int root, Timeout timeout) {
  auto* begin = static_cast<std::byte*>(data);
  run({.kind = kBroadcast, .bytes = bytes, .root = root}, timeout, [&] {
    for (std::size_t at = 0; at < bytes; at += segment_->slot_bytes()) {
      const std::size_t piece = std::min(segment_->slot_bytes(), bytes - at);
      std::byte* mine = begin_round();
      if (rank() == root) std::memcpy(mine, begin + at, piece);
      publish();
      if (rank() == root) {
        has_unseen_peers_ = true;
        continue;
      }
      await_published(root);
      std::memcpy(begin + at, slot(root), piece);
    }
  });
}

void SharedMemoryExchange::all_gather(const void* mine, const std::vector<void*>& outs,
                                      std::size_t bytes, Timeout timeout) {
  run({.kind = kAllGather, .bytes = bytes}, timeout, [&] {
    for (std::size_t at = 0; at < bytes; at += segment_->slot_bytes()) {
      const std::size_t piece = std::min(segment_->slot_bytes(), bytes - at);
      std::memcpy(begin_round(), static_cast<const std::byte*>(mine) + at, piece);
      publish();
      await_all_published();
      for (int peer = 0; peer < world_size(); ++peer) {
        std::memcpy(static_cast<std::byte*>(outs[peer]) + at, slot(peer), piece);
      }
    }
  });
}

void SharedMemoryExchange::scatter(const std::vector<const void*>& slices, void* out,
                                   std::size_t bytes, int root, Timeout timeout) {
  run({.kind = kScatter, .bytes = bytes, .root = root}, timeout, [&] {
    const std::size_t step = segment_->slot_bytes() / static_cast<std::size_t>(world_size());
    for (std::size_t at = 0; at < bytes; at += step) {
      const std::size_t piece = std::min(step, bytes - at);
      std::byte* mine = begin_round();
      for (std::size_t peer = 0; rank() == root && peer < slices.size(); ++peer) {
        std::memcpy(mine + peer * step, static_cast<const std::byte*>(slices[peer]) + at, piece);
      }
      publish();
      rank() == root ? void(has_unseen_peers_ = true) : await_published(root);
      std::memcpy(static_cast<std::byte*>(out) + at,
                  slot(root) + static_cast<std::size_t>(rank()) * step, piece);
    }
  });
}

void SharedMemoryExchange::barrier(Timeout timeout) {
  run({.kind = kBarrier}, timeout, [&] {
    begin_round();
    publish();
    await_all_published();
  });
}

std::byte* SharedMemoryExchange::begin_round() {
  ++round_;
  for (int peer = 0; peer < world_size(); ++peer) await(peer, begun(round_ - 1));
  if (std::exchange(has_unseen_peers_, false)) {
    for (int peer = 0; peer < world_size(); ++peer) check_last_round(peer);
  }
  segment_->mine().calls[round_ & 1] = call_;
  return slot(rank());
}

void SharedMemoryExchange::publish() { set_progress(segment_->mine().progress, begun(round_)); }

void SharedMemoryExchange::await_published(int rank) {
  await(rank, begun(round_));
  check_same_call(rank);
}

void SharedMemoryExchange::await_all_published() {
  for (int peer = 0; peer < world_size(); ++peer) await_published(peer);
}

void SharedMemoryExchange::publish_results() {
  set_progress(segment_->mine().progress, 2 * round_);
}

void SharedMemoryExchange::await_all_results() {
  for (int peer = 0; peer < world_size(); ++peer) await(peer, 2 * round_);
}

void SharedMemoryExchange::await(int rank, std::uint32_t target) {
  ProgressWord& word = segment_->area(rank).progress;
  if (has_reached(word.value.load(std::memory_order_acquire), target)) return;
  auto spin = spin_;
  while (!wait_progress(word, target, spin, kLookAtPeersEvery)) {
    spin = std::chrono::microseconds(0);
    if (aborted_) fail("it was aborted");
    check_peers(target);
  }
}

// Throws if a peer that has not reached `target` never will, or if the deadline has passed.
//
// Reads a peer's departure and life before its progress. In the other order, a peer that
// published its data and left between the two reads would be reported as missing, although its
// data is complete.
void SharedMemoryExchange::check_peers(std::uint32_t target) const {
  std::string missing, gave_up;
  for (int peer = 0; peer < world_size(); ++peer) {
    const std::uint32_t departure = segment_->area(peer).departure;
    const bool lives = segment_->is_alive(peer);
    if (has_reached(segment_->area(peer).progress.value, target)) continue;
    const std::string name = "rank " + std::to_string(peer);
    if (departure == kLeft) throw PeerLost(with_call(name + " has left the world"));
    // A rank may have given up because of another rank, and an error should then name
    // the other rank.
    if (departure == kGaveUp && gave_up.empty()) gave_up = name;
    if (departure == kPresent && !lives) {
      throw PeerLost(with_call(name + " is gone: its process has ended"));
    }
    missing += (missing.empty() ? "" : ", ") + name;
  }
  if (!gave_up.empty()) fail(gave_up + " gave up after an error");
  if (!missing.empty() && Clock::now() >= deadline_) {
    fail(missing + " did not take part within " + std::to_string(timeout_.count()) + " ms");
  }
}

void SharedMemoryExchange::check_same_call(int rank) const {
  const SharedCall& theirs = segment_->area(rank).calls[round_ & 1];
  if (theirs == call_) return;
  throw CallsDiffer(with_call(
      "rank " + std::to_string(rank) + " is in another call: " + text_of(theirs) +
      (theirs.element == call_.element ? "" : " with another element type or operation")));
}

// Compares the calls of the last round, in which this rank was the root. A root does not wait for
// its peers, so it could not compare the calls in that round.
void SharedMemoryExchange::check_last_round(int rank) const {
  const std::uint32_t last = (round_ - 1) & 1;
  const SharedCall &mine = segment_->mine().calls[last], &theirs = segment_->area(rank).calls[last];
  if (theirs == mine) return;
  throw CallsDiffer(with_call("in the call before, rank " + std::to_string(rank) + " was in " +
                              text_of(theirs) + ", and this rank in " + text_of(mine)));
}

std::string SharedMemoryExchange::with_call(const std::string& reason) const {
  return text_of(call_) + " (call " + std::to_string(number_) + "): " + reason;
}

void SharedMemoryExchange::fail(const std::string& reason) const {
  throw CommunicationError(with_call(reason));
}

}  // namespace accel::runtime
