#include "bench/control/simulated_agents.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/channel.h"
#include "agent/core/report_schedule.h"
#include "bench/control/exit_on_error.h"
#include "bench/control/simulated_node.h"
#include "common/clock.h"
#include "proto/service.grpc.pb.h"

namespace accel::bench {
namespace {

constexpr absl::Duration kLongestWait = absl::Seconds(1);  // For an event of a stream.

absl::Time Now() { return common::SteadyClock()->Now(); }

}  // namespace

class SimulatedAgent {
 public:
  // An operation of the stream, of which its address is the tag.
  struct Operation {
    SimulatedAgent* agent;
    void (SimulatedAgent::*done)();  // Called when it has succeeded.
  };

  SimulatedAgent(const std::string& address, int number)
      : stub_(agent::OpenChannel(address)), node_(number) {}

  void Connect(grpc::CompletionQueue* queue) {
    static const std::string method =
        absl::StrCat("/", v1::Coordinator::service_full_name(), "/Agent");
    stream_ = stub_.PrepareCall(&context_, method, queue);
    stream_->StartCall(&connect_);
  }

  bool answered() const { return answered_; }
  // When the next heartbeat is due.
  absl::Time due() const { return due_; }

  // Sends the node's state, now or after the report that is being sent.
  void Report() {
    due_ = Now() + agent::UntilHeartbeat(absl::Now(), heartbeat_);
    changed_ = writing_;
    if (writing_) return;
    writing_ = true;
    const grpc::Slice report(node_.ReportBytes());
    stream_->Write(grpc::ByteBuffer(&report, 1), &write_);
  }

 private:
  void Connected() {
    stream_->Read(&reading_, &read_);
    Report();
  }

  void HasRead() {
    grpc::Slice bytes;
    v1::NodeDesired desired;
    if (!reading_.DumpToSingleSlice(&bytes).ok() ||
        !desired.ParseFromArray(bytes.begin(), static_cast<int>(bytes.size()))) {
      Fail("the coordinator's answer cannot be read");
    }
    answered_ = true;
    node_.Apply(desired);
    heartbeat_ = absl::Milliseconds(desired.heartbeat_ms());
    Report();
    stream_->Read(&reading_, &read_);
  }

  void HasWritten() {
    writing_ = false;
    if (changed_) Report();
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  Operation connect_{this, &SimulatedAgent::Connected};
  Operation read_{this, &SimulatedAgent::HasRead};
  Operation write_{this, &SimulatedAgent::HasWritten};
  grpc::ByteBuffer reading_;  // Filled by the read in progress.
  SimulatedNode node_;
  absl::Time due_ = absl::InfiniteFuture();
  absl::Duration heartbeat_ = absl::InfiniteDuration();
  bool answered_ = false;
  bool writing_ = false;
  bool changed_ = false;  // The node has changed since the report that is being written.
};

SimulatedAgents::SimulatedAgents(const std::string& address, int first, int agents) {
  for (int i = 0; i < agents; ++i) {
    agents_.push_back(std::make_unique<SimulatedAgent>(address, first + i));
  }
}

SimulatedAgents::~SimulatedAgents() = default;

void SimulatedAgents::Run(size_t connecting, absl::FunctionRef<void()> connected) {
  for (size_t started = 0; answered_ < agents_.size(); Serve()) {
    while (started < agents_.size() && started < answered_ + connecting) {
      agents_[started++]->Connect(&queue_);
    }
  }
  connected();
  for (;;) Serve();
}

void SimulatedAgents::Serve() {
  void* tag = nullptr;
  bool ok = false;
  absl::Duration wait = kLongestWait;
  if (!heartbeats_.empty()) wait = std::min(wait, heartbeats_.begin()->first - Now());
  const auto deadline = absl::ToChronoTime(absl::Now() + wait);
  if (queue_.AsyncNext(&tag, &ok, deadline) == grpc::CompletionQueue::GOT_EVENT) {
    if (!ok) Fail("an agent's stream broke");
    const auto* done = static_cast<SimulatedAgent::Operation*>(tag);
    SimulatedAgent* const agent = done->agent;
    const bool answered = agent->answered();
    heartbeats_.erase({agent->due(), agent});
    (agent->*done->done)();
    heartbeats_.emplace(agent->due(), agent);
    if (agent->answered() && !answered) ++answered_;
  }
  const absl::Time now = Now();
  while (!heartbeats_.empty() && heartbeats_.begin()->first <= now) {
    SimulatedAgent* const agent = heartbeats_.begin()->second;
    heartbeats_.erase(heartbeats_.begin());
    agent->Report();
    heartbeats_.emplace(agent->due(), agent);
  }
}

}  // namespace accel::bench
