// Tells the launcher that this rank makes progress, or that it waits for other ranks. The launcher
// finds a rank that hangs by this (docs/decisions/0097).
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace accel::runtime {

// Thread-safe. Never blocks and never fails.
class ProgressBeat {
 public:
  // `socket` is that of send_to_launcher(). If it is empty, the methods do nothing.
  ProgressBeat(std::string socket, const std::string& rank);

  // Says that a step has ended: a batch was handed out, or a backward pass is over. Sends at most
  // ten messages a second, because a step may take microseconds. The other calls read a clock.
  void step();
  // Says that this rank waits for other ranks. Holds until the next step().
  void wait();
  // Says that this rank does something that may take any time, such as writing to a slow disk. No
  // rank that pauses is found to hang. Holds until the next step().
  void pause();

  // Returns the one of this process, which reads its environment at the first call. It holds no
  // connection, so it may outlive the world.
  static ProgressBeat& of_process();

 private:
  void send(const std::string& message);

  const std::string socket_;
  const std::string beat_message_, wait_message_, pause_message_;
  // The earliest time of the next message, in nanoseconds of the monotonic clock.
  std::atomic<std::int64_t> next_{0};
};

}  // namespace accel::runtime
