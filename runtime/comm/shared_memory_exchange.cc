#include "runtime/comm/shared_memory_exchange.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "runtime/comm/ring_chunks.h"

namespace accel {
namespace {

// So soon a waiting rank sees that a peer is gone.
constexpr std::chrono::milliseconds kLookAtPeersEvery(50);

// Up to this size every rank adds up everything, which costs one meeting of the ranks instead of
// two. All ranks' bytes together count, because each rank reads them: beyond that the second
// meeting is cheaper.
std::size_t at_once_bytes(int ranks) {
  constexpr std::size_t kMost = 128 << 10, kOfAllRanks = 512 << 10;
  return std::min(kMost, kOfAllRanks / static_cast<std::size_t>(ranks));
}

// Of intermediate sums, which so stay in the first-level cache.
constexpr std::size_t kBlockBytes = 8 << 10;

enum Kind : std::uint32_t { kAllReduce, kBroadcast, kAllGather, kScatter, kBarrier };

std::string text_of(const SharedCall& call) {
  constexpr const char* kNames[] = {"all_reduce", "broadcast", "all_gather", "scatter", "barrier"};
  std::string text = call.kind < std::size(kNames) ? kNames[call.kind] : "unknown call";
  if (call.kind == kBarrier) return text;
  text += " of " + std::to_string(call.bytes) + " bytes";
  if (call.kind == kBroadcast || call.kind == kScatter) {
    text += " from rank " + std::to_string(call.root);
  }
  return text;
}

}  // namespace

// A large tensor goes through the slots in pieces, each of which holds a part of every chunk.
struct SharedMemoryExchange::Pieces {
  std::size_t bytes;  // Of the tensor.
  std::size_t chunk;  // Bytes of every chunk but the last ones.
  std::size_t step;   // Bytes of a chunk in one piece.

  std::size_t count() const { return (chunk + step - 1) / step; }
  std::size_t begin(std::size_t piece, int owner) const {
    return std::min(bytes, static_cast<std::size_t>(owner) * chunk + piece * step);
  }
  std::size_t length(std::size_t piece, int owner) const {
    const std::size_t chunk_end = std::min(bytes, (static_cast<std::size_t>(owner) + 1) * chunk);
    const std::size_t from = begin(piece, owner);
    return from < chunk_end ? std::min(step, chunk_end - from) : 0;
  }
};

SharedMemoryExchange::SharedMemoryExchange(std::unique_ptr<SharedMemorySegment> segment)
    : segment_(std::move(segment)),
      spin_(spin_time(segment_->world_size())),
      scratch_(std::make_unique<std::byte[]>(kBlockBytes)),
      sources_(static_cast<std::size_t>(segment_->world_size())) {}

SharedMemoryExchange::~SharedMemoryExchange() { depart(kLeft); }

// The first reason counts.
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

template <typename Body>
void SharedMemoryExchange::run(const SharedCall& call, Timeout timeout, Body&& body) {
  ++number_;
  call_ = call;
  timeout_ = timeout;
  deadline_ = std::chrono::steady_clock::now() + timeout;
  if (!failure_.empty()) fail("an earlier call failed: " + failure_);
  try {
    if (aborted_) fail("it was aborted");
    body();
  } catch (const CommunicationError& error) {
    failure_ = error.what();
    depart(kGaveUp);
    throw;
  }
}

void SharedMemoryExchange::all_reduce(void* data, std::size_t elements, const Reduction& reduction,
                                      Timeout timeout) {
  const std::size_t bytes = elements * reduction.element_size;
  auto* begin = static_cast<std::byte*>(data);
  if (bytes == 0) return;
  run({.kind = kAllReduce, .element = reduction.code, .bytes = bytes}, timeout, [&] {
    if (bytes <= std::min(at_once_bytes(world_size()), segment_->slot_bytes())) {
      return all_reduce_at_once(begin, elements, reduction);
    }
    const std::size_t per_chunk = segment_->slot_bytes() / static_cast<std::size_t>(world_size());
    const Pieces pieces{
        .bytes = bytes,
        .chunk = reduction.element_size *
                 ring_chunk_elements(elements, reduction.element_size, world_size()),
        .step = per_chunk / 64 * 64};
    for (std::size_t piece = 0; piece < pieces.count(); ++piece) {
      all_reduce_piece(pieces, piece, begin, reduction);
    }
  });
}

void SharedMemoryExchange::all_reduce_at_once(std::byte* data, std::size_t elements,
                                              const Reduction& reduction) {
  const std::size_t bytes = elements * reduction.element_size;
  std::memcpy(begin_round(), data, bytes);
  publish();
  await_all_published();
  const std::size_t chunk =
      reduction.element_size * ring_chunk_elements(elements, reduction.element_size, world_size());
  for (int owner = 0; owner < world_size(); ++owner) {
    const std::size_t from = std::min(bytes, static_cast<std::size_t>(owner) * chunk);
    const std::size_t length = std::min(bytes - from, chunk);
    for (int peer = 0; peer < world_size(); ++peer) sources_[peer] = slot(peer) + from;
    reduce_range(sources_, owner, data + from, length, reduction);
  }
}

// First everybody hands out what the others finish, then what it has finished itself.
void SharedMemoryExchange::all_reduce_piece(const Pieces& pieces, std::size_t piece,
                                            std::byte* data, const Reduction& reduction) {
  const auto part_of = [&](int peer, int owner) {
    return slot(peer) + static_cast<std::size_t>(owner) * pieces.step;
  };
  begin_round();
  for (int owner = 0; owner < world_size(); ++owner) {
    if (owner == rank()) continue;
    std::memcpy(part_of(rank(), owner), data + pieces.begin(piece, owner),
                pieces.length(piece, owner));
  }
  publish();
  await_all_published();
  std::byte* mine = data + pieces.begin(piece, rank());
  const std::size_t length = pieces.length(piece, rank());
  for (std::size_t at = 0; at < length; at += kBlockBytes) {
    const std::size_t block = std::min(kBlockBytes, length - at);
    for (int peer = 0; peer < world_size(); ++peer) {
      sources_[peer] = (peer == rank() ? mine : part_of(peer, rank())) + at;
    }
    std::byte* result = part_of(rank(), rank()) + at;
    reduce_range(sources_, rank(), result, block, reduction);
    std::memcpy(mine + at, result, block);
  }
  publish_results();
  await_all_results();
  for (int owner = 0; owner < world_size(); ++owner) {
    if (owner == rank()) continue;
    std::memcpy(data + pieces.begin(piece, owner), part_of(owner, owner),
                pieces.length(piece, owner));
  }
}

// The elements that `owner` finishes, from everybody's sources[rank].
void SharedMemoryExchange::reduce_range(const std::vector<const std::byte*>& sources, int owner,
                                        std::byte* out, std::size_t bytes,
                                        const Reduction& reduction) {
  const int ranks = world_size();
  for (std::size_t at = 0; at < bytes; at += kBlockBytes) {
    const std::size_t elements = std::min(kBlockBytes, bytes - at) / reduction.element_size;
    const std::byte* sum = sources[(owner + ranks - 1) % ranks] + at;
    for (int step = ranks - 2; step > 0; --step) {
      reduction.function(scratch_.get(), sources[(owner + step) % ranks] + at, sum, elements);
      sum = scratch_.get();
    }
    reduction.function(out + at, sources[owner] + at, sum, elements);
  }
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
  for (int peer = 0; peer < world_size(); ++peer) await(peer, 2 * round_ - 3);
  if (std::exchange(has_unseen_peers_, false)) {
    for (int peer = 0; peer < world_size(); ++peer) check_last_round(peer);
  }
  segment_->mine().calls[round_ & 1] = call_;
  return slot(rank());
}

void SharedMemoryExchange::publish() { set_progress(segment_->mine().progress, 2 * round_ - 1); }

void SharedMemoryExchange::await_published(int rank) {
  await(rank, 2 * round_ - 1);
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

// What a rank did before it went counts: the reason is looked at before the progress.
void SharedMemoryExchange::check_peers(std::uint32_t target) const {
  std::string missing, gave_up;
  for (int peer = 0; peer < world_size(); ++peer) {
    const std::uint32_t departure = segment_->area(peer).departure;
    const bool lives = segment_->is_taken(peer);
    if (has_reached(segment_->area(peer).progress.value, target)) continue;
    const std::string name = "rank " + std::to_string(peer);
    if (departure == kLeft) throw PeerLost(in_this_call(name + " has left the world"));
    // A rank that gave up, and may have ended since, did so because of another if there is one.
    if (departure == kGaveUp && gave_up.empty()) gave_up = name;
    if (departure == kPresent && !lives) {
      throw PeerLost(in_this_call(name + " is gone: its process has ended"));
    }
    missing += (missing.empty() ? "" : ", ") + name;
  }
  if (!gave_up.empty()) fail(gave_up + " has given up after an error of its own");
  if (!missing.empty() && std::chrono::steady_clock::now() >= deadline_) {
    fail(missing + " did not take part within " + std::to_string(timeout_.count()) + " ms");
  }
}

void SharedMemoryExchange::check_same_call(int rank) const {
  const SharedCall& theirs = segment_->area(rank).calls[round_ & 1];
  if (theirs == call_) return;
  throw CallsDiffer(in_this_call(
      "rank " + std::to_string(rank) + " is in another call: " + text_of(theirs) +
      (theirs.element == call_.element ? "" : " with another element type or operation")));
}

// A root gives, and does not look at what the others do until they meet again.
void SharedMemoryExchange::check_last_round(int rank) const {
  const std::uint32_t last = (round_ - 1) & 1;
  const SharedCall &mine = segment_->mine().calls[last], &theirs = segment_->area(rank).calls[last];
  if (theirs == mine) return;
  throw CallsDiffer(in_this_call("before it, rank " + std::to_string(rank) + " was in " +
                                 text_of(theirs) + ", and this one in " + text_of(mine)));
}

std::string SharedMemoryExchange::in_this_call(const std::string& reason) const {
  return text_of(call_) + " (call " + std::to_string(number_) + "): " + reason;
}

void SharedMemoryExchange::fail(const std::string& reason) const {
  throw CommunicationError(in_this_call(reason));
}

}  // namespace accel
