#include "tests/simulation/unreliable_node.h"

#include <utility>

namespace accel::simulation {
namespace {

// The longest time until a coordinator has read what an agent sent before it was killed.
constexpr absl::Duration kLastMessages = absl::Milliseconds(500);
// The longest time that a shutdown takes.
constexpr absl::Duration kShutdown = absl::Seconds(8);
constexpr char kClusterId[] = "cluster_id";

}  // namespace

UnreliableNode::UnreliableNode(std::string name, int gpus, uint32_t seed, const Habits* habits,
                               const PlantedBug* bug, SeenFaults* seen,
                               SimulatedCoordinator* coordinator, common::Clock* clock)
    : name_(std::move(name)),
      gpus_(gpus),
      bug_(*bug),
      seen_(*seen),
      clock_(clock),
      host_clock_(seed, clock),
      disk_(seed, seen, clock),
      processes_(seed, name_, &habits->workers, &disk_, &host_clock_),
      link_(seed, &habits->network, bug, coordinator, clock) {
  StartAgent();
}

void UnreliableNode::StartAgent() {
  v1::NodeObserved identity;
  identity.set_node_id(id());
  identity.set_name(name_);
  identity.set_boot_id(boot_id());
  identity.set_incarnation(absl::StrCat(name_, "-", ++incarnation_));
  identity.set_address("127.0.0.1");
  identity.set_interface("lo");
  identity.mutable_inventory()->set_cpus(8);
  for (int i = 0; i < gpus_; ++i) identity.mutable_inventory()->add_gpus()->set_index(i);
  shims_ = std::make_unique<SimulatedShims>(boot_id(), &bug_, &processes_, &disk_, clock_);
  sockets_.push_back(std::make_unique<agent::StoreSockets>("127.0.0.1", 2));
  agent_ = std::make_unique<agent::Agent>(
      agent::Agent::Options{.identity = identity,
                            .base_env = {},
                            .jobs_dir = "/nonexistent",
                            .wall = [this] { return host_clock_.Wall(); },
                            .cluster = disk_.Read(kClusterId).value_or(""),
                            .remember_cluster =
                                [this](const std::string& cluster) {
                                  absl::Status written = disk_.Write(kClusterId, cluster);
                                  if (written.ok()) disk_.Sync(kClusterId);
                                  return written;
                                }},
      agent::Agent::Dependencies{.shims = shims_.get(),
                                 .link = &link_,
                                 .store_sockets = sockets_.back().get(),
                                 .relays = &relays_,
                                 .clock = &host_clock_});
}

void UnreliableNode::KillAgent(absl::Duration away) {
  if (agent_ == nullptr) return;
  start_at_ = clock_->Now() + away;
  agent_died_at_ = clock_->Now();
  agent_.reset();
  shims_.reset();
  link_.Break(kLastMessages);
  processes_.AgentGone(clock_->Now());
}

void UnreliableNode::KillAgentInStart(StartStep step, absl::Duration away) {
  if (agent_ == nullptr) return;
  away_after_start_ = away;
  shims_->DieAfter(step, [this] {
    seen_.insert("kill of an agent in a start");
    link_.Break(kLastMessages);  // So the rest of the turn sends nothing.
  });
}

void UnreliableNode::KillShim(const common::JobId& job) {
  if (agent_ != nullptr) processes_.KillShim(job, clock_->Now());
}

void UnreliableNode::ShutDown(absl::Duration away) {
  if (agent_ == nullptr || shuts_down()) return;
  agent_->SayGoodbye(agent::Leaver::kNode, "its host is shutting down");
  off_at_ = clock_->Now() + kShutdown;
  off_for_ = away;
}

void UnreliableNode::Reboot(absl::Duration away) {
  off_at_ = absl::InfiniteFuture();
  agent_.reset();
  shims_.reset();
  link_.Break(absl::InfiniteDuration());
  processes_.Reboot(clock_->Now());
  host_clock_.Reboot();
  agent_died_at_ = clock_->Now();
  ++boot_;
  paused_until_ = absl::InfinitePast();
  start_at_ = clock_->Now() + away;
}

void UnreliableNode::LosePower(absl::Duration away) {
  Reboot(away);
  disk_.LosePower();
}

void UnreliableNode::GoAstray(SimulatedCoordinator* stranger, absl::Duration time) {
  link_.GoTo(stranger);
  astray_until_ = clock_->Now() + time;
}

void UnreliableNode::EndFaults() {
  astray_until_ = absl::InfinitePast();
  paused_until_ = absl::InfinitePast();
  start_at_ = absl::InfinitePast();
  disk_.Repair();
  if (shims_ != nullptr) shims_->LetLive();
}

void UnreliableNode::Run() {
  processes_.Run(clock_->Now());
  if (agent_ == nullptr && clock_->Now() >= start_at_) StartAgent();
  if (clock_->Now() >= astray_until_) link_.Return();
  const bool has_left = agent_runs() && agent_->has_left(agent::Leaver::kNode);
  if (shuts_down() && (has_left || clock_->Now() >= off_at_)) return Reboot(off_for_);
  link_.Run(agent_runs());
  if (!agent_runs()) return;
  const int stops = shims_->stops();
  // A new agent starts, as a supervisor would do.
  const bool failed = !agent_->RunOnce().ok();
  if (shims_->died()) return KillAgent(away_after_start_);
  if (failed) return KillAgent(absl::ZeroDuration());
  obeyed_a_stranger_ |= link_.is_astray() && shims_->stops() > stops;
}

}  // namespace accel::simulation
