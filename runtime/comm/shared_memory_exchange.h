// Collectives over a SharedMemorySegment, on plain memory.
//
// They go on in rounds, which every rank counts alike. In a round a rank writes to one of its two
// slots, in turn, and sets its progress to the odd number of the round; its peers read. Where the
// round has a second half, the rank then sets its progress to the even number. Who begins round r
// has read all of round r-1, so a slot is written again in round r+1 only when every peer has begun
// round r.
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

namespace accel {

// out[i] = a[i] + b[i], or whatever is to be done with all ranks' elements; `out` may be `a`.
using ReduceFunction = void (*)(void* out, const void* a, const void* b, std::size_t elements);

struct Reduction {
  ReduceFunction function = nullptr;
  std::size_t element_size = 0;
  std::uint32_t code = 0;  // The same on two ranks if and only if they do the same.
};

// Every rank makes the same calls in the same order. A call throws CommunicationError if a peer
// makes another call or does not take part within `timeout`, and PeerLost if it dies or leaves; the
// text names the rank and the call. Every later call then throws too, on all ranks. Use it from one
// thread at a time.
class SharedMemoryExchange {
 public:
  using Timeout = std::chrono::milliseconds;
  enum Kind : std::uint32_t {
    kAllReduce,
    kBroadcast,
    kAllGather,
    kScatter,
    kBarrier
  };  // Of calls.

  explicit SharedMemoryExchange(std::unique_ptr<SharedMemorySegment> segment);
  ~SharedMemoryExchange();  // Leaves.

  int rank() const { return segment_->rank(); }
  int world_size() const { return segment_->world_size(); }

  // In place, element by element in the order of ring_chunks.h.
  void all_reduce(void* data, std::size_t elements, const Reduction& reduction, Timeout timeout);

  // The same if every peer takes part within `patience`. Else false: then finish_all_reduce(), with
  // the same tensor, goes on with the call, on any thread and before any other call.
  bool try_all_reduce(void* data, std::size_t elements, const Reduction& reduction, Timeout timeout,
                      Timeout patience);
  void finish_all_reduce(void* data, std::size_t elements, const Reduction& reduction);

  // `bytes` from the root's `data` to everybody's.
  void broadcast(void* data, std::size_t bytes, int root, Timeout timeout);

  // `bytes` of every rank r to outs[r], which may be `mine` for this rank.
  void all_gather(const void* mine, const std::vector<void*>& outs, std::size_t bytes,
                  Timeout timeout);

  // The root's slices[r] to rank r's `out`, `bytes` to each. Other ranks give no slices.
  void scatter(const std::vector<const void*>& slices, void* out, std::size_t bytes, int root,
               Timeout timeout);

  void barrier(Timeout timeout);

  // Both end the call that is under way, if any, and all later ones, here and on the peers, who
  // learn that this rank has given up, or that it has left. From any thread.
  void abort();
  void leave();

 private:
  // Of intermediate sums, which so stay in the first-level cache.
  static constexpr std::size_t kBlockBytes = 8 << 10;

  // What a rank's progress has reached when it has published its part of a round.
  static constexpr std::uint32_t begun(std::uint32_t round) { return 2 * round - 1; }

  enum Departure : std::uint32_t { kPresent, kLeft, kGaveUp };
  struct Pieces;

  // A call, and a part of it: what `body` throws ends this rank's part in the world.
  template <typename Body>
  void run(const SharedCall& call, Timeout timeout, Body&& body) {
    begin_call(call, timeout);
    go_on(body);
  }
  template <typename Body>
  void go_on(Body&& body) {
    try {
      begin_part();
      body();
    } catch (const CommunicationError& error) {
      note_failure(error);
      throw;
    }
  }
  void begin_call(const SharedCall& call, Timeout timeout);
  void begin_part() const;
  void note_failure(const CommunicationError& error);
  void depart(Departure how);

  // An all-reduce: what this rank gives to the first round, for which it waits for no peer that has
  // come to the round before; and the rest.
  void give_first(const std::byte* data, std::size_t elements, const Reduction& reduction);
  void reduce_rest(std::byte* data, std::size_t elements, const Reduction& reduction);
  bool is_added_at_once(std::size_t bytes) const;
  Pieces pieces_of(std::size_t elements, const Reduction& reduction) const;
  void give_piece(const Pieces& pieces, std::size_t piece, const std::byte* data);
  void reduce_piece(const Pieces& pieces, std::size_t piece, std::byte* data,
                    const Reduction& reduction);
  void add_at_once(std::byte* data, std::size_t elements, const Reduction& reduction);
  void reduce_range(const std::vector<const std::byte*>& sources, int owner, std::byte* out,
                    std::size_t bytes, const Reduction& reduction);

  // A round: this rank's slot, free to be written; then what it wrote is there for its peers; then
  // what a peer, or all of them, wrote is there for this rank. The same for the second half.
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
  std::string in_this_call(const std::string& reason) const;
  [[noreturn]] void fail(const std::string& reason) const;

  const std::unique_ptr<SharedMemorySegment> segment_;
  const std::chrono::microseconds spin_;
  std::uint32_t round_ = 0;
  bool has_unseen_peers_ = false;  // In the last round this rank did not look at their calls.
  const std::unique_ptr<std::byte[]> scratch_;
  std::vector<const std::byte*> sources_;

  // Of the call under way.
  std::uint64_t number_ = 0;
  SharedCall call_;
  Timeout timeout_{};
  std::chrono::steady_clock::time_point deadline_;
  bool has_given_ = false;  // In try_all_reduce().

  std::string failure_;  // Of the call that failed, once one has.
  std::atomic<bool> aborted_ = false;
};

}  // namespace accel
