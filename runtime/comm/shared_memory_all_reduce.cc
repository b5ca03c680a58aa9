// The all-reduce and the reduce-scatter of SharedMemoryExchange, in the rounds that
// shared_memory_exchange.cc defines.
//
// There are two forms. The cost of a small tensor is the meetings of the ranks, and the cost of a
// large one is the additions.
//
// Small tensors take one meeting. Each rank publishes its whole tensor, waits for all, and adds up
// everything itself. All ranks add in the same order, so they all get the same bits.
//
// Large tensors take two meetings, and share the additions. The tensor is divided into one chunk
// per rank (ring_chunks.h). Each rank publishes its part of the chunks that the other ranks finish.
// It adds up its own chunk, publishes that sum, and copies the sums of the others:
//
// clang-format off
//   4 ranks           slot of rank 0     rank 1     rank 2     rank 3
//   first half          . b0 c0 d0     a1 . c1 d1  a2 b2 . d2  a3 b3 c3 .
//   second half         A b0 c0 d0     a1 B c1 d1  a2 b2 C d2  a3 b3 c3 D     A = a0 + a1 + a2 + a3
// clang-format on
//
// A tensor that is larger than the slots goes through them in pieces, each of which holds a part of
// every chunk, so that all ranks have work in every piece.
//
// A reduce-scatter is the first half of this, with equal chunks: one meeting for each piece.
//
// try_all_reduce() exists for the caller's thread, which must not wait for a late peer. It waits
// with all_reach(), which only observes: it throws nothing, and treats a peer that is gone like a
// late one. finish_all_reduce() then finds out with await() in shared_memory_exchange.cc, which
// throws. The wait comes after publish_first(), because the peers should have this rank's data as
// early as possible.
#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/comm/ring_chunks.h"
#include "runtime/comm/shared_memory_exchange.h"

namespace accel::runtime {
namespace {

using Clock = std::chrono::steady_clock;

// Returns the largest size for which every rank adds up everything. The limit is on the bytes of
// all ranks together, because each rank reads them all. Above it, a second meeting is cheaper.
std::size_t one_meeting_bytes(int ranks) {
  constexpr std::size_t kMaxBytes = 128 << 10, kOfAllRanks = 512 << 10;
  return std::min(kMaxBytes, kOfAllRanks / static_cast<std::size_t>(ranks));
}

}  // namespace

// The division of a large tensor into pieces. All sizes are in bytes. begin() and length() describe
// the part of the chunk of rank `owner` that is in a piece.
struct SharedMemoryExchange::Pieces {
  std::size_t bytes;  // The size of the tensor.
  std::size_t chunk;  // The size of a full chunk.
  std::size_t step;   // The size of a chunk's part in one piece.

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

void SharedMemoryExchange::all_reduce(void* data, std::size_t elements,
                                      const ElementReduction& reduction, Timeout timeout) {
  const std::size_t bytes = elements * reduction.element_size;
  if (bytes == 0) return;
  run({.kind = kAllReduce, .element = reduction.code, .bytes = bytes}, timeout, [&] {
    publish_first(static_cast<const std::byte*>(data), elements, reduction);
    reduce_rest(static_cast<std::byte*>(data), elements, reduction);
  });
}

bool SharedMemoryExchange::try_all_reduce(void* data, std::size_t elements,
                                          const ElementReduction& reduction, Timeout timeout,
                                          Timeout max_wait) {
  const std::size_t bytes = elements * reduction.element_size;
  if (bytes == 0) return true;
  bool is_over = false;
  run({.kind = kAllReduce, .element = reduction.code, .bytes = bytes}, timeout, [&] {
    const auto until = Clock::now() + max_wait;
    has_published_first_ = all_reach(begun(round_), until);
    if (!has_published_first_) return;
    publish_first(static_cast<const std::byte*>(data), elements, reduction);
    if (!all_reach(begun(round_), until)) return;
    reduce_rest(static_cast<std::byte*>(data), elements, reduction);
    is_over = true;
  });
  return is_over;
}

void SharedMemoryExchange::finish_all_reduce(void* data, std::size_t elements,
                                             const ElementReduction& reduction) {
  run_part([&] {
    if (!has_published_first_) {
      publish_first(static_cast<const std::byte*>(data), elements, reduction);
    }
    reduce_rest(static_cast<std::byte*>(data), elements, reduction);
  });
}

void SharedMemoryExchange::reduce_scatter(const void* data, void* out, std::size_t elements,
                                          const ElementReduction& reduction, Timeout timeout) {
  const std::size_t chunk = elements * reduction.element_size;
  const Pieces pieces{.bytes = chunk * static_cast<std::size_t>(world_size()),
                      .chunk = chunk,
                      .step = bytes_per_step()};
  run({.kind = kReduceScatter, .element = reduction.code, .bytes = chunk}, timeout, [&] {
    for (std::size_t piece = 0; piece < pieces.count(); ++piece) {
      publish_piece(pieces, piece, static_cast<const std::byte*>(data));
      await_all_published();
      for (int peer = 0; peer < world_size(); ++peer) {
        sources_[peer] = slot(peer) + static_cast<std::size_t>(rank()) * pieces.step;
      }
      sources_[rank()] = static_cast<const std::byte*>(data) + pieces.begin(piece, rank());
      reduce_range(sources_, rank(), static_cast<std::byte*>(out) + piece * pieces.step,
                   pieces.length(piece, rank()), reduction);
    }
  });
}

bool SharedMemoryExchange::takes_one_meeting(std::size_t bytes) const {
  return bytes <= std::min(one_meeting_bytes(world_size()), segment_->slot_bytes());
}

SharedMemoryExchange::Pieces SharedMemoryExchange::pieces_of(
    std::size_t elements, const ElementReduction& reduction) const {
  return {.bytes = elements * reduction.element_size,
          .chunk = reduction.element_size *
                   ring_chunk_elements(elements, reduction.element_size, world_size()),
          .step = bytes_per_step()};
}

std::size_t SharedMemoryExchange::bytes_per_step() const {
  return segment_->slot_bytes() / static_cast<std::size_t>(world_size()) / 64 * 64;
}

void SharedMemoryExchange::publish_first(const std::byte* data, std::size_t elements,
                                         const ElementReduction& reduction) {
  const std::size_t bytes = elements * reduction.element_size;
  if (!takes_one_meeting(bytes)) return publish_piece(pieces_of(elements, reduction), 0, data);
  std::memcpy(begin_round(), data, bytes);
  publish();
}

void SharedMemoryExchange::reduce_rest(std::byte* data, std::size_t elements,
                                       const ElementReduction& reduction) {
  if (takes_one_meeting(elements * reduction.element_size)) {
    return reduce_in_one_meeting(data, elements, reduction);
  }
  const Pieces pieces = pieces_of(elements, reduction);
  for (std::size_t piece = 0; piece < pieces.count(); ++piece) {
    if (piece > 0) publish_piece(pieces, piece, data);
    reduce_piece(pieces, piece, data, reduction);
  }
}

void SharedMemoryExchange::reduce_in_one_meeting(std::byte* data, std::size_t elements,
                                                 const ElementReduction& reduction) {
  await_all_published();
  const std::size_t bytes = elements * reduction.element_size;
  const std::size_t chunk =
      reduction.element_size * ring_chunk_elements(elements, reduction.element_size, world_size());
  for (int owner = 0; owner < world_size(); ++owner) {
    const std::size_t from = std::min(bytes, static_cast<std::size_t>(owner) * chunk);
    const std::size_t length = std::min(bytes - from, chunk);
    for (int peer = 0; peer < world_size(); ++peer) sources_[peer] = slot(peer) + from;
    reduce_range(sources_, owner, data + from, length, reduction);
  }
}

// Publishes this rank's part of the chunks that other ranks finish.
void SharedMemoryExchange::publish_piece(const Pieces& pieces, std::size_t piece,
                                         const std::byte* data) {
  std::byte* const mine = begin_round();
  for (int owner = 0; owner < world_size(); ++owner) {
    if (owner == rank()) continue;
    std::memcpy(mine + static_cast<std::size_t>(owner) * pieces.step,
                data + pieces.begin(piece, owner), pieces.length(piece, owner));
  }
  publish();
}

void SharedMemoryExchange::reduce_piece(const Pieces& pieces, std::size_t piece, std::byte* data,
                                        const ElementReduction& reduction) {
  const auto part_of = [&](int peer, int owner) {
    return slot(peer) + static_cast<std::size_t>(owner) * pieces.step;
  };
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

// Reduces elements of the chunk of rank `owner`: those at sources[rank] of every rank.
void SharedMemoryExchange::reduce_range(const std::vector<const std::byte*>& sources, int owner,
                                        std::byte* out, std::size_t bytes,
                                        const ElementReduction& reduction) {
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

// Returns true if the progress of all ranks reaches `target` before `until`. Does not check whether
// they are alive.
bool SharedMemoryExchange::all_reach(std::uint32_t target, Clock::time_point until) const {
  auto spin = spin_;
  for (int peer = 0; peer < world_size(); ++peer) {
    ProgressWord& word = segment_->area(peer).progress;
    while (!has_reached(word.value.load(std::memory_order_acquire), target)) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
      if (left.count() <= 0) return false;
      wait_progress(word, target, std::exchange(spin, std::chrono::microseconds(0)), left);
    }
  }
  return true;
}

}  // namespace accel::runtime
