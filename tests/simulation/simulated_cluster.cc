#include "tests/simulation/simulated_cluster.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace accel::simulation {
namespace {

constexpr absl::Duration kStep = absl::Milliseconds(500);
// Maximum number of turns. It is more than any exchange of this size needs, so a program that
// exceeds it sends messages forever.
constexpr int kMaxTurns = 1000;

}  // namespace

SimulatedNode::SimulatedNode(std::string name, coordinator::Coordinator* coordinator,
                             common::Clock* clock)
    : name_(std::move(name)),
      coordinator_(coordinator),
      clock_(clock),
      shims_(std::make_unique<shim::FakeShimHost>()) {
  StartAgent();
}

void SimulatedNode::StartAgent() {
  v1::NodeObserved identity;
  identity.set_node_id("id-" + name_);
  identity.set_name(name_);
  identity.set_incarnation(absl::StrCat(name_, "-", ++incarnation_));
  identity.set_boot_id(absl::StrCat("boot-", name_, "-", boot_));
  identity.set_address("127.0.0.1");
  identity.set_interface("lo");
  sockets_ = std::make_unique<agent::StoreSockets>("127.0.0.1", 2);
  link_ = std::make_unique<cli::LocalLink>(coordinator_);
  agent_ = std::make_unique<agent::Agent>(
      agent::Agent::Options{.identity = identity, .base_env = {}, .jobs_dir = "/jobs"},
      agent::Agent::Dependencies{.shims = shims_.get(),
                                 .link = link_.get(),
                                 .store_sockets = sockets_.get(),
                                 .relays = &relays_,
                                 .clock = clock_});
}

void SimulatedNode::KillAgent() {
  agent_.reset();
  link_.reset();
  shims_->KillAgent();
}

void SimulatedNode::Reboot() {
  KillAgent();
  shims_ = std::make_unique<shim::FakeShimHost>();
  ++boot_;
  StartAgent();
}

bool SimulatedNode::RunOnce() {
  if (agent_ == nullptr) return false;
  const uint64_t before = agent_->state().revision();
  const absl::Status status = agent_->RunOnce();
  // Fails only if a newer agent has replaced this one, which tests expect.
  static_cast<void>(status);
  return agent_->state().revision() != before;
}

SimulatedCluster::SimulatedCluster(int nodes)
    : loop_({.store = &store_,
             .clock = &clock_,
             .wall_clock = [this] { return clock_.Now(); },
             .limits = {}}) {
  ACCEL_CHECK(loop_.Load().ok(), "a new memory store is readable");
  for (int i = 0; i < nodes; ++i) {
    nodes_.push_back(std::make_unique<SimulatedNode>(absl::StrCat("n", i + 1), &loop_, &clock_));
  }
  Settle();
}

void SimulatedCluster::Settle() {
  for (int turn = 0; turn < kMaxTurns; ++turn) {
    bool any = false;
    loop_.RunOnce();
    for (const auto& node : nodes_) any |= node->RunOnce();
    loop_.RunOnce();
    for (const auto& node : nodes_) any |= node->RunOnce();
    if (!any) return;
  }
  ACCEL_CHECK(false, "coordinator and agents never come to rest");
}

void SimulatedCluster::Advance(absl::Duration by) {
  Settle();
  for (absl::Duration passed; passed < by; passed += kStep) {
    clock_.Advance(kStep);
    Settle();
  }
}

common::JobId SimulatedCluster::Submit(const v1::JobSpec& spec) {
  static int next = 0;
  absl::StatusOr<common::JobId> id = absl::UnknownError("no answer");
  loop_.SubmitJob(coordinator::Owner(), absl::StrCat("submit-", ++next), spec,
                  [&id](absl::StatusOr<common::JobId> job) { id = std::move(job); });
  Settle();
  ACCEL_CHECK(id.ok(), "the test submits jobs that are in order");
  return *id;
}

v1::Job SimulatedCluster::Get(const common::JobId& job) {
  Settle();
  v1::Job found;
  loop_.ListJobs(coordinator::Owner(), job,
                 [&found](absl::StatusOr<std::vector<coordinator::JobPtr>> jobs) {
                   if (jobs.ok() && !jobs->empty()) found = *jobs->front();
                 });
  loop_.RunOnce();
  return found;
}

void SimulatedCluster::ExecDone(const common::JobId& job) {
  for (const auto& node : nodes_) {
    if (node->shims().has_shim(job)) node->shims().ExecDone(job);
  }
  Settle();
}

void SimulatedCluster::ExitAll(const common::JobId& job, const shim::ExitFact& how) {
  for (const auto& node : nodes_) {
    if (node->shims().has_shim(job)) node->shims().ExitAll(job, how);
  }
  Settle();
}

}  // namespace accel::simulation
