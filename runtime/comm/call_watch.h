// Finds the ranks that have not reached the collective in which this rank waits, so that the error
// of a failed collective names them (docs/decisions/0021).
//
// Neither Gloo nor NCCL can tell which ranks are missing. So each rank numbers its calls. If a call
// has been open for a second, a thread writes it to a key-value board in the world's store, under
// its number. A rank whose call fails reads that key:
//
// clang-format off
//   rank 0                        key "call_12" on the board        rank 0's error
//   12: gather    fails  ──read─▶ 0 gather                          "rank 2 has not called it;
//   rank 1                        1 reduce                     ──▶   rank 1 called reduce instead"
//   12: reduce    waits  ─write─▶
//   rank 2                        (no line)
//   11: forward   computes
// clang-format on
//
// A call that ends within a second costs a lock and no traffic, so training steps pay nothing.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace accel::runtime {

// One call of this rank. A call has the same number on all ranks as long as they make the same
// calls in the same order. The first has number 1.
struct NumberedCall {
  std::uint64_t number = 0;
  std::string text;
};

// A key-value board that all ranks can read and write while they wait in a collective.
class KeyValueBoard {
 public:
  virtual ~KeyValueBoard() = default;
  // Appends `line` to the value of `key`. Throws std::exception if the board cannot be reached.
  virtual void append(const std::string& key, const std::string& line) = 0;
  // Returns all lines of `key`, in any order, or an empty string if there are none. Throws
  // std::exception if the board cannot be reached.
  virtual std::string read(const std::string& key) = 0;
};

// Parses what ranks have written about one call: lines of "RANK TEXT". Skips malformed lines. If a
// rank wrote several, its last line counts.
std::map<int, std::string> parse_board(std::string_view lines);

// Describes how the ranks of a world of `size` differ from `call`: "rank 2 has not called it; rank
// 3 called reduce instead". Returns an empty string if all of them are in `call`.
std::string describe_missing_ranks(int size, const std::string& call,
                                   const std::map<int, std::string>& board);

// Numbers this rank's calls, and announces on the board those that take long. Only one call is
// open at a time. begin(), end() and cancel() must be called from one thread. The other
// methods are thread-safe.
class CallWatch {
 public:
  struct Pace {
    // The time after which an open call is announced. The announcement may take twice as long.
    std::chrono::milliseconds announce_after = std::chrono::seconds(1);
    // The time that explain() waits for the other ranks to announce their calls. It is longer than
    // twice announce_after, so that every rank that waits in the call can announce it.
    std::chrono::milliseconds grace = std::chrono::milliseconds(2500);
  };

  CallWatch(int rank, int size, std::unique_ptr<KeyValueBoard> board, Pace pace);
  CallWatch(int rank, int size, std::unique_ptr<KeyValueBoard> board)
      : CallWatch(rank, size, std::move(board), Pace()) {}
  ~CallWatch();
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;

  // Begin and end a call of this name.
  void begin(const std::string& call);
  void end();
  // Ends a call that failed on this rank alone, before its peers noticed. The next call gets the
  // same number, because the peers still wait in the call that this rank may make again.
  void cancel();

  // Returns the call that is open, or the last one if no call is open.
  NumberedCall current();

  // Returns describe_missing_ranks() for a call that failed, or an empty string if the board cannot
  // be reached. Announces the call first. Then waits until each living rank has written its line on
  // the board, but no longer than Pace::grace. `count_lost()` returns the number of ranks that
  // cannot write any more. The call need not be the last one, because a GPU reports a failure long
  // after the host has made the call.
  std::string explain(
      const NumberedCall& call, const std::function<int()>& count_lost = [] { return 0; });

  // Announces `text` as this rank's next call, because the rank is about to leave the world. An
  // error of another rank in that call then says "rank R called TEXT instead".
  void note_failure(const std::string& text);

 private:
  void watch();
  void announce(const NumberedCall& call);

  const int rank_, size_;
  const Pace pace_;
  const std::unique_ptr<KeyValueBoard> board_;
  // Held while the board is accessed, which may take seconds; mutex_ is not held meanwhile.
  std::mutex board_mutex_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  NumberedCall current_;
  std::uint64_t announced_ = 0;  // The number of the last call that watch() announced.
  bool is_open_ = false;
  std::chrono::steady_clock::time_point begun_;
  std::thread thread_;
};

}  // namespace accel::runtime
