#include "coordinator/gate/reset_guard.h"

#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "coordinator/gate/stream_counts.h"

namespace accel::coordinator {
namespace {

constexpr absl::Duration kPause = absl::Milliseconds(200);
// Number of new calls below which a look is skipped, because no connection can then come into debt:
// kPause pays back as many. Looks cost most in large clusters, whose calls are few most
// of the time.
constexpr int64_t kFewCalls = 100;

}  // namespace

ResetGuard::ResetGuard(std::function<void(const std::string&)> cut)
    : cut_(std::move(cut)), judge_(common::SteadyClock()->Now()), thread_([this] { Run(); }) {}

ResetGuard::~ResetGuard() {
  stopping_ = true;
  stop_.Notify();
  thread_.join();
}

void ResetGuard::Run() {
  while (!stopping_) {
    Look();
    stop_.WaitFor(kPause);
  }
}

void ResetGuard::Look() {
  const int64_t calls = CallsStarted();
  const bool few = calls - std::exchange(calls_, calls) < kFewCalls;
  if (few) return;
  const std::vector<PeerStreams> streams = ReadStreamCounts();
  std::vector<StreamCounts> counts;
  for (const PeerStreams& each : streams) counts.push_back(each.counts);
  for (const int64_t connection : judge_.Look(counts, common::SteadyClock()->Now())) {
    for (const PeerStreams& each : streams) {
      if (each.counts.connection != connection) continue;
      cut_(each.peer);
    }
  }
}

}  // namespace accel::coordinator
