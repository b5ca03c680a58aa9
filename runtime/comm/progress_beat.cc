#include "runtime/comm/progress_beat.h"

#include <chrono>
#include <cstdlib>
#include <utility>

#include "common/worker_env.h"
#include "runtime/comm/launcher_socket.h"

namespace accel::runtime {
namespace {

constexpr std::chrono::nanoseconds kEvery = std::chrono::milliseconds(100);

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

ProgressBeat::ProgressBeat(std::string socket, const std::string& rank)
    : socket_(std::move(socket)),
      beat_message_(std::string(common::kBeatMessage) + rank),
      wait_message_(std::string(common::kWaitMessage) + rank),
      pause_message_(std::string(common::kPauseMessage) + rank) {}

void ProgressBeat::step() {
  if (socket_.empty()) return;
  const std::int64_t now = std::chrono::steady_clock::now().time_since_epoch().count();
  if (now < next_.load(std::memory_order_relaxed)) return;
  next_.store(now + kEvery.count(), std::memory_order_relaxed);
  send_to_launcher(socket_, beat_message_);
}

void ProgressBeat::wait() { send(wait_message_); }

void ProgressBeat::pause() { send(pause_message_); }

void ProgressBeat::send(const std::string& message) {
  if (socket_.empty()) return;
  // The next step must be sent, because it ends what this message says.
  next_.store(0, std::memory_order_relaxed);
  send_to_launcher(socket_, message);
}

ProgressBeat& ProgressBeat::of_process() {
  static ProgressBeat beat(variable(common::kEnvAccelBeatSocket), [] {
    const std::string rank = variable(common::kEnvRank);
    return rank.empty() ? "0" : rank;
  }());
  return beat;
}

}  // namespace accel::runtime
