// Collectives on plain memory, over a SharedMemorySegment. The head of shared_memory_exchange.cc
// explains the protocol. The head of shared_memory_all_reduce.cc explains the all-reduce, which is
// half of the code.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "accel/errors.h"
#include "runtime/comm/shared_memory_segment.h"

namespace accel::runtime {

// Computes out[i] = a[i] + b[i], or another reduction. `out` may be equal to `a`.
using ReduceFunction = void (*)(void* out, const void* a, const void* b, std::size_t elements);

struct ElementReduction {
  ReduceFunction function = nullptr;
  std::size_t element_size = 0;
  // Identifies the element type and the operation, so that ranks can compare theirs.
  std::uint32_t code = 0;
};

// One rank's side of the exchange. All ranks must make the same calls in the same order. A call
// throws CallsDiffer if a peer makes another call, and PeerLost if a peer dies or leaves. It throws
// CommunicationError if a peer does not take part within `timeout`. The text names the rank and the
// call. After an error all later calls throw, on all ranks, because their rounds no longer match.
//
// One thread may use it at a time. abort() and leave() are thread-safe.
class SharedMemoryExchange {
 public:
  using Timeout = std::chrono::milliseconds;
  // The values of SharedCall::kind.
  enum Kind : std::uint32_t {
    kAllReduce,
    kBroadcast,
    kAllGather,
    kScatter,
    kBarrier,
    kReduceScatter
  };

  explicit SharedMemoryExchange(std::shared_ptr<SharedMemorySegment> segment);
  // Leaves the world.
  ~SharedMemoryExchange();

  int rank() const { return segment_->rank(); }
  int world_size() const { return segment_->world_size(); }

  // Reduces in place. Each element is reduced in the order of ring_chunks.h.
  void all_reduce(void* data, std::size_t elements, const ElementReduction& reduction,
                  Timeout timeout);

  // Does the same if every peer takes part within `max_wait`, and returns true. Otherwise returns
  // false, and the call remains open. finish_all_reduce() must then be called with the same
  // arguments, on any thread, before any other call is made.
  bool try_all_reduce(void* data, std::size_t elements, const ElementReduction& reduction,
                      Timeout timeout, Timeout max_wait);
  void finish_all_reduce(void* data, std::size_t elements, const ElementReduction& reduction);

  // Reduces, into `out` of each rank r, the `elements` that begin at r * elements in every rank's
  // `data`. Rank r's part is added up in the order x[r] + (x[r+1] + ...) of ring_chunks.h. `out`
  // may be that part of `data`.
  void reduce_scatter(const void* data, void* out, std::size_t elements,
                      const ElementReduction& reduction, Timeout timeout);

  // Copies the root's `data`, which has `bytes`, to the `data` of every other rank.
  void broadcast(void* data, std::size_t bytes, int root, Timeout timeout);

  // Copies `mine` of each rank r, which has `bytes`, to outs[r] of every rank. outs[rank()]
  // may be `mine`.
  void all_gather(const void* mine, const std::vector<void*>& outs, std::size_t bytes,
                  Timeout timeout);

  // Copies the root's slices[r], which has `bytes`, to `out` of rank r. `slices` is empty on
  // the other ranks.
  void scatter(const std::vector<const void*>& slices, void* out, std::size_t bytes, int root,
               Timeout timeout);

  void barrier(Timeout timeout);

  // End the running call, if any, and all later calls with an error, here and on the peers. The
  // errors of the peers say that this rank has given up, or that it has left.
  void abort();
  void leave();

 private:
  // The size of intermediate sums: small enough for the first-level cache.
  static constexpr std::size_t kBlockBytes = 8 << 10;

  // The progress of a rank that has published its data of a round.
  static constexpr std::uint32_t begun(std::uint32_t round) { return 2 * round - 1; }

  enum Departure : std::uint32_t { kPresent, kLeft, kGaveUp };
  struct Pieces;

  // Run a call, and the rest of a call that try_all_reduce() has begun. If `body` throws a
  // CommunicationError, this rank gives up: its later calls and its peers' calls fail.
  template <typename Body>
  void run(const SharedCall& call, Timeout timeout, Body&& body) {
    begin_call(call, timeout);
    run_part(body);
  }
  template <typename Body>
  void run_part(Body&& body) {
    try {
      check_not_aborted();
      body();
    } catch (const CommunicationError& error) {
      note_failure(error);
      throw;
    }
  }
  void begin_call(const SharedCall& call, Timeout timeout);
  void check_not_aborted() const;
  void note_failure(const CommunicationError& error);
  void depart(Departure how);

  // The two parts of an all-reduce. publish_first() publishes this rank's data of the first round.
  // It waits only for peers that have not reached the round before. reduce_rest() does the rest.
  void publish_first(const std::byte* data, std::size_t elements,
                     const ElementReduction& reduction);
  void reduce_rest(std::byte* data, std::size_t elements, const ElementReduction& reduction);
  bool takes_one_meeting(std::size_t bytes) const;
  Pieces pieces_of(std::size_t elements, const ElementReduction& reduction) const;
  // The number of bytes of each rank's chunk that fit into a slot, in whole cache lines.
  std::size_t bytes_per_step() const;
  void publish_piece(const Pieces& pieces, std::size_t piece, const std::byte* data);
  void reduce_piece(const Pieces& pieces, std::size_t piece, std::byte* data,
                    const ElementReduction& reduction);
  void reduce_in_one_meeting(std::byte* data, std::size_t elements,
                             const ElementReduction& reduction);
  void reduce_range(const std::vector<const std::byte*>& sources, int owner, std::byte* out,
                    std::size_t bytes, const ElementReduction& reduction);

  // The steps of a round, in this order. begin_round() returns this rank's slot when it may be
  // overwritten. publish() makes the contents of the slot visible to the peers.
  // await_published() returns when a peer has published its slot. publish_results() and
  // await_all_results() do the same for a second half, in which ranks publish results that they
  // have computed from the first half.
  std::byte* begin_round();
  void publish();
  void await_published(int rank);
  void await_all_published();
  void publish_results();
  void await_all_results();
  std::byte* slot(int rank) const { return segment_->slot(rank, round_ & 1); }

  void await(int rank, std::uint32_t target);
  bool all_reach(std::uint32_t target, std::chrono::steady_clock::time_point until) const;
  void check_peers(std::uint32_t target) const;
  void check_same_call(int rank) const;
  void check_last_round(int rank) const;
  std::string with_call(const std::string& reason) const;
  [[noreturn]] void fail(const std::string& reason) const;

  const std::shared_ptr<SharedMemorySegment> segment_;
  const std::chrono::microseconds spin_;
  std::uint32_t round_ = 0;
  // True if this rank was the root of the last round, and has therefore not compared its call with
  // the calls of its peers yet.
  bool has_unseen_peers_ = false;
  const std::unique_ptr<std::byte[]> scratch_;
  std::vector<const std::byte*> sources_;

  // The state of the running call.
  std::uint64_t number_ = 0;
  SharedCall call_;
  Timeout timeout_{};
  std::chrono::steady_clock::time_point deadline_;
  bool has_published_first_ = false;  // True if try_all_reduce() has published this rank's data.

  std::string failure_;  // The error of the call that failed; empty if none has.
  std::atomic<bool> aborted_ = false;
};

}  // namespace accel::runtime
