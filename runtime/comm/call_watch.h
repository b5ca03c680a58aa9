// Which ranks have reached the collective that this one waits in: for the error of one that ends
// without them. A call that is answered at once costs a lock and no traffic.
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
#include <vector>

namespace accel {

// One of this rank's calls. The ranks number theirs alike, as long as they make the same ones.
struct NumberedCall {
  std::uint64_t number = 0;
  std::string text;
};

// A place that all ranks can write to and read while they wait for one another.
class CallBoard {
 public:
  virtual ~CallBoard() = default;
  // Adds `line` under `key`. Throws std::exception if it cannot.
  virtual void append(const std::string& key, const std::string& line) = 0;
  // All that has been added under `key`, in any order; empty if nothing has.
  virtual std::string read(const std::string& key) = 0;
};

// What ranks have written about one call, as lines "rank text".
std::map<int, std::string> parse_board(std::string_view lines);

// "rank 2 has not called it; rank 3 called reduce instead": how the ranks of a world of `size`
// differ from `call`. Empty if all are there.
std::string absentees(int size, const std::string& call, const std::map<int, std::string>& board);

// Numbers this rank's calls, and writes those that last long on the board. One call at a time;
// begin() and end() come from one thread.
class CallWatch {
 public:
  struct Pace {
    std::chrono::milliseconds announce_after = std::chrono::seconds(1);
    // How long explain() waits for ranks that are just announcing theirs.
    std::chrono::milliseconds grace = std::chrono::milliseconds(2500);
  };

  CallWatch(int rank, int size, std::unique_ptr<CallBoard> board, Pace pace);
  CallWatch(int rank, int size, std::unique_ptr<CallBoard> board)
      : CallWatch(rank, size, std::move(board), Pace()) {}
  ~CallWatch();
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;

  // A call, which ends where the scope does.
  void begin(const std::string& call);
  void end();
  // Instead of end(), for a call that has failed by itself on this rank: the others have not
  // noticed, and what this rank does next, such as trying again, is what they wait for.
  void cancel();

  // The call that is open, or the last one.
  NumberedCall current();

  // For when a call failed, before its end() or, if it lasts beyond that, after it and after other
  // calls: absentees(), as far as the board can be reached. Ranks that are known to be `lost` are
  // not waited for. From any thread.
  std::string explain(const NumberedCall& call, int lost = 0);

  // What the others' next error shall say about this rank, which is about to leave.
  void note_failure(const std::string& text);

 private:
  void watch();
  void announce(const NumberedCall& call);

  const int rank_, size_;
  const Pace pace_;
  const std::unique_ptr<CallBoard> board_;
  std::mutex board_mutex_;  // Held while the board is asked, which may take long.

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  NumberedCall current_;
  std::uint64_t announced_ = 0;
  bool is_open_ = false;
  std::chrono::steady_clock::time_point begun_;
  std::thread thread_;
};

}  // namespace accel
