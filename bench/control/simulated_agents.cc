#include "bench/control/simulated_agents.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "agent/channel.h"
#include "bench/control/simulated_node.h"
#include "common/clock.h"
#include "proto/service.grpc.pb.h"

namespace accel::bench {
namespace {

// Maximum number of agents that connect at the same time.
constexpr size_t kConnecting = 64;
// How often the program looks for agents whose heartbeat is due.
constexpr absl::Duration kLook = absl::Milliseconds(10);

// Nanoseconds of the monotonic clock.
int64_t At(absl::Time time) { return absl::ToUnixNanos(time); }
absl::Time Now() { return common::SteadyClock()->Now(); }

}  // namespace

class SimulatedAgent final : public grpc::ClientBidiReactor<v1::NodeObserved, v1::NodeDesired> {
 public:
  SimulatedAgent(const std::string& address, int number)
      : stub_(v1::Coordinator::NewStub(agent::OpenChannel(address))), node_(number) {}

  void Connect() {
    stub_->async()->Agent(&context_, this);
    StartRead(&desired_);
    Report();
    StartCall();
  }

  void AwaitAnswer() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&answered_));
  }

  void HeartbeatIfDue(absl::Time now) {
    if (At(now) >= due_) Report();
  }

  void Close() {
    ending_ = true;
    context_.TryCancel();
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&done_));
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    {
      absl::MutexLock lock(&mutex_);
      answered_ = true;
      node_.Apply(desired_);
      heartbeat_ = absl::Milliseconds(desired_.heartbeat_ms());
    }
    Report();
    StartRead(&desired_);
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return;
    bool again;
    {
      absl::MutexLock lock(&mutex_);
      writing_ = false;
      again = std::exchange(changed_, false);
    }
    if (again) Report();
  }

  void OnDone(const grpc::Status& status) override {
    if (!ending_) {
      std::fprintf(stderr, "cluster_load: an agent's stream broke: %s\n",
                   status.error_message().c_str());
      std::exit(1);
    }
    absl::MutexLock lock(&mutex_);
    done_ = true;
  }

 private:
  // Sends the node's state, now or after the report that is being sent.
  void Report() {
    absl::MutexLock lock(&mutex_);
    due_ = At(Now() + heartbeat_);
    if (writing_) {
      changed_ = true;
      return;
    }
    writing_ = true;
    report_ = node_.Report();
    StartWrite(&report_);
  }

  const std::unique_ptr<v1::Coordinator::Stub> stub_;
  grpc::ClientContext context_;
  v1::NodeDesired desired_;  // Filled by the read in progress.
  std::atomic<bool> ending_{false};
  std::atomic<int64_t> due_{At(absl::InfiniteFuture())};  // The next heartbeat.
  absl::Mutex mutex_;
  SimulatedNode node_ ABSL_GUARDED_BY(mutex_);
  v1::NodeObserved report_ ABSL_GUARDED_BY(mutex_);  // What is being written.
  absl::Duration heartbeat_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteDuration();
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool changed_ ABSL_GUARDED_BY(mutex_) = false;
  bool answered_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

SimulatedAgents::SimulatedAgents(const std::string& address, int agents) {
  for (int i = 0; i < agents; ++i) {
    agents_.push_back(std::make_unique<SimulatedAgent>(address, i));
  }
  // The first agents must not fall silent while the last ones connect.
  heartbeats_ = std::thread([this] { SendHeartbeats(); });
  for (size_t i = 0; i < agents_.size(); ++i) {
    agents_[i]->Connect();
    if (i >= kConnecting) agents_[i - kConnecting]->AwaitAnswer();
  }
  for (const auto& agent : agents_) agent->AwaitAnswer();
}

SimulatedAgents::~SimulatedAgents() {
  stopping_ = true;
  heartbeats_.join();
  for (const auto& agent : agents_) agent->Close();
}

void SimulatedAgents::SendHeartbeats() {
  while (!stopping_) {
    const absl::Time now = Now();
    for (const auto& agent : agents_) agent->HeartbeatIfDue(now);
    absl::SleepFor(kLook);
  }
}

}  // namespace accel::bench
