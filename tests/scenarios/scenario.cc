#include "tests/scenarios/scenario.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/core/desired_state.h"
#include "coordinator/core/observe.h"
#include "coordinator/core/planner.h"
#include "coordinator/core/presence.h"
#include "coordinator/core/records.h"
#include "coordinator/core/recover.h"
#include "coordinator/core/requests.h"
#include "coordinator/wire.h"
#include "tests/scenarios/check_at_rest.h"
#include "tests/scenarios/describe_stored.h"
#include "tests/scenarios/words.h"

namespace accel::scenarios {
namespace {

v1::JobSpec ParseSpec(const std::vector<std::string>& words) {
  v1::JobSpec spec;
  spec.add_argv("train");
  spec.set_nodes(1);
  for (size_t i = 1; i < words.size(); ++i) {
    const auto [name, value] = Option(words[i]);
    if (name == "nodes") {
      spec.set_nodes(Number(value));
    } else if (name == "ppn") {
      for (const auto& entry : Split(value, ',')) spec.add_processes_per_node(Number(entry));
    } else if (name == "cpu") {
      spec.set_cpu(true);
    } else if (name == "gpu_ids") {
      for (const auto& entry : Split(value, ',')) spec.add_gpu_ids(Number(entry));
    } else if (name == "max_restarts") {
      spec.set_max_restarts(Number(value));
    } else if (name == "min_nodes") {
      spec.set_min_nodes(Number(value));
    } else if (name == "no_retry_on") {
      for (const auto& entry : Split(value, ',')) spec.add_no_retry_on(Number(entry));
    } else if (name == "restart_window") {
      spec.set_restart_window_ms(absl::ToInt64Milliseconds(ParseDuration(value)));
    } else if (name == "time_limit") {
      spec.set_time_limit_ms(absl::ToInt64Milliseconds(ParseDuration(value)));
    } else if (name == "ends_with_agent") {
      spec.set_on_agent_loss(v1::END);
    } else if (name == "stop_on_disconnect") {
      spec.set_stop_on_disconnect_after_ms(absl::ToInt64Milliseconds(ParseDuration(value)));
    } else if (name == "start_deadline") {
      spec.set_start_deadline_ms(absl::ToInt64Milliseconds(ParseDuration(value)));
    } else {
      throw std::invalid_argument(absl::StrCat("submit: unknown option ", name));
    }
  }
  return spec;
}

// The defaults, but with a timeout in whole steps of a scenario, and restart pauses that it can
// name.
coordinator::Limits ScenarioLimits() {
  coordinator::Limits limits;
  limits.node_timeout = absl::Seconds(5);
  limits.restart_jitter = 0;
  return limits;
}

}  // namespace

Scenario::Scenario() { Begin({}).IgnoreError(); }

FakeNode& Scenario::Node(const std::string& name) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) throw std::invalid_argument(absl::StrCat("no node ", name));
  return *found->second;
}

std::string Scenario::RealId(const std::string& job) const {
  const size_t number = static_cast<size_t>(Number(absl::string_view(job).substr(1)));
  if (job[0] != 'j' || number < 1 || number > jobs_.size()) {
    throw std::invalid_argument(absl::StrCat("no job ", job));
  }
  return jobs_[number - 1].value();
}

std::string Scenario::Alias(const std::string& job_id) const {
  for (size_t i = 0; i < jobs_.size(); ++i) {
    if (jobs_[i].value() == job_id) return absl::StrCat("j", i + 1);
  }
  return job_id;
}

v1::ObservedGeneration& Scenario::Part(const std::string& node, const std::string& generation) {
  const std::vector<std::string> names = Split(generation, '.');
  if (names.size() != 2) throw std::invalid_argument(absl::StrCat("not JOB.N: ", generation));
  v1::ObservedGeneration* part = Node(node).Find(RealId(names[0]), Number(names[1]));
  if (part == nullptr) {
    throw std::invalid_argument(absl::StrCat("node ", node, " has no ", generation));
  }
  return *part;
}

absl::Status Scenario::Begin(const std::vector<coordinator::Row>& rows) {
  ACCEL_ASSIGN_OR_RETURN(
      state_, coordinator::Recover(rows, ScenarioLimits(), {now_, now_, "boot", "cluster"}));
  changes_ = {};
  asked_.clear();
  changes_.cluster = true;
  return absl::OkStatus();
}

absl::Status Scenario::Plan() {
  coordinator::PlanToRest(now_, now_, &state_, &changes_);
  ACCEL_RETURN_IF_ERROR(CheckAtRest(state_, now_));
  ACCEL_RETURN_IF_ERROR(Publish());
  if (!changes_.durable()) return absl::OkStatus();
  store_.Commit(coordinator::RowsOf(state_, changes_), [](const absl::Status&) {});
  changes_ = {};
  ++commits_;
  ACCEL_RETURN_IF_ERROR(CheckRecovery());
  return commits_ == crash_after_ ? Crash() : absl::OkStatus();
}

absl::Status Scenario::Publish() {
  for (const common::NodeId& id : std::exchange(changes_.nodes, {})) {
    const auto node = state_.nodes.find(id);
    if (node != state_.nodes.end()) asked_[id] = DesiredSignature(state_, node->second, {});
  }
  for (const auto& [id, node] : state_.nodes) {
    if (node.session == 0 || asked_[id] == DesiredSignature(state_, node, {})) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "node ", node.observed.name(), " must do something else, and nobody has noted it"));
  }
  return absl::OkStatus();
}

absl::Status Scenario::Crash() {
  ACCEL_ASSIGN_OR_RETURN(const std::vector<coordinator::Row> rows, store_.Load());
  ACCEL_RETURN_IF_ERROR(Begin(rows));
  for (auto& [name, node] : nodes_) {
    sessions_[name] = 0;
    node->observed().set_applied_version(0);
  }
  for (auto& [name, node] : nodes_) {
    if (!node->muted) ACCEL_RETURN_IF_ERROR(Report(node.get()));
  }
  return absl::OkStatus();
}

absl::Status Scenario::CheckRecovery() {
  ACCEL_ASSIGN_OR_RETURN(const std::vector<coordinator::Row> rows, store_.Load());
  ACCEL_ASSIGN_OR_RETURN(const coordinator::ClusterState recovered,
                         coordinator::Recover(rows, ScenarioLimits(), {now_, now_, "boot", ""}));
  const Words known = Split(DescribeStored(state_), '\n');
  const Words found = Split(DescribeStored(recovered), '\n');
  if (known == found) return absl::OkStatus();
  const auto [has, recovers] =
      std::mismatch(known.begin(), known.end(), found.begin(), found.end());
  return absl::FailedPreconditionError(
      absl::StrCat("the coordinator has: ", has == known.end() ? "nothing" : *has,
                   "\nit would recover: ", recovers == found.end() ? "nothing" : *recovers));
}

absl::Status Scenario::Report(FakeNode* node) {
  if (sessions_[node->name()] == 0) sessions_[node->name()] = next_session_++;
  const coordinator::SessionId session = sessions_[node->name()];
  ACCEL_ASSIGN_OR_RETURN(coordinator::NodeReport report,
                         readers_[session].Read(coordinator::ToBytes(node->Report(now_))));
  coordinator::SessionId superseded = 0;
  ACCEL_RETURN_IF_ERROR(
      coordinator::Observe(session, std::move(report), now_, &state_, &changes_, &superseded));
  return Plan();
}

absl::Status Scenario::Submit(const Words& words) {
  absl::StatusOr<common::JobId> job = coordinator::SubmitJob(
      absl::StrCat("submit-", jobs_.size()), ParseSpec(words), now_, &state_, &changes_);
  ACCEL_RETURN_IF_ERROR(job.status());
  jobs_.push_back(*std::move(job));
  return Plan();
}

absl::Status Scenario::Cancel(const Words& words) {
  ACCEL_RETURN_IF_ERROR(coordinator::CancelJob(common::JobId(RealId(words.at(1))),
                                               words.size() > 2 && words[2] == "at_once", &state_,
                                               &changes_));
  return Plan();
}

std::vector<FakeNode*> Scenario::Nodes(const Words& words) {
  std::vector<FakeNode*> nodes;
  if (words.at(1) == "all") {
    for (const auto& [name, node] : nodes_) nodes.push_back(node.get());
  } else {
    for (size_t i = 1; i < words.size(); ++i) nodes.push_back(&Node(words[i]));
  }
  return nodes;
}

// Sends the node its desired state.
v1::NodeDesired Scenario::Send(FakeNode* node) {
  const common::NodeId id(node->observed().node_id());
  state_.nodes.at(id).clock.Sent(++state_.revision, now_);
  return DesiredOf(id);
}

absl::Status Scenario::Sync(const Words& words) {
  for (FakeNode* node : Nodes(words)) {
    node->Apply(Send(node), now_);
    ACCEL_RETURN_IF_ERROR(Report(node));
  }
  return absl::OkStatus();
}

absl::Status Scenario::Work(const Words& words) {
  for (FakeNode* node : Nodes(words)) {
    const v1::NodeDesired desired = Send(node);
    node->Work(desired, now_);
    ACCEL_RETURN_IF_ERROR(Report(node));
    node->Apply(desired, now_);
    ACCEL_RETURN_IF_ERROR(Report(node));
  }
  return absl::OkStatus();
}

absl::Status Scenario::Drain(const Words& words) {
  v1::Drain drain = words.size() > 2 && words[2] == "now" ? v1::MOVE_JOBS : v1::FINISH_JOBS;
  if (words[0] == "undrain") drain = v1::NOT_DRAINED;
  ACCEL_RETURN_IF_ERROR(coordinator::DrainNode(words.at(1), drain, now_, &state_, &changes_));
  return Plan();
}

absl::Status Scenario::Advance(const Words& words) {
  absl::Duration left = ParseDuration(words.at(1));
  while (left > absl::ZeroDuration()) {
    const absl::Duration step = std::min(left, absl::Seconds(1));
    now_ += step;
    left -= step;
    coordinator::Listen(now_, &state_);
    for (auto& [name, node] : nodes_) {
      if (!node->muted) ACCEL_RETURN_IF_ERROR(Report(node.get()));
    }
    ACCEL_RETURN_IF_ERROR(Plan());
  }
  return absl::OkStatus();
}

absl::Status Scenario::Away(const Words& words) {
  now_ += ParseDuration(words.at(1));
  coordinator::Listen(now_, &state_);
  return Plan();
}

absl::Status Scenario::Play(absl::string_view line) {
  static const auto* const kSteps =
      new std::map<std::string, Step>{{"node", &Scenario::AddNode},
                                      {"submit", &Scenario::Submit},
                                      {"cancel", &Scenario::Cancel},
                                      {"sync", &Scenario::Sync},
                                      {"work", &Scenario::Work},
                                      {"run", &Scenario::Run},
                                      {"exit", &Scenario::Exit},
                                      {"checkpoint", &Scenario::Checkpoint},
                                      {"fail", &Scenario::Fail},
                                      {"cannot_start", &Scenario::Fail},
                                      {"end", &Scenario::End},
                                      {"vanish", &Scenario::Vanish},
                                      {"restart", &Scenario::Link},
                                      {"reboot", &Scenario::Link},
                                      {"disconnect", &Scenario::Link},
                                      {"reconnect", &Scenario::Link},
                                      {"mute", &Scenario::Link},
                                      {"unmute", &Scenario::Link},
                                      {"refuse", &Scenario::Link},
                                      {"goodbye", &Scenario::Link},
                                      {"agent_stops", &Scenario::Link},
                                      {"drain", &Scenario::Drain},
                                      {"undrain", &Scenario::Drain},
                                      {"stale", &Scenario::Stale},
                                      {"advance", &Scenario::Advance},
                                      {"away", &Scenario::Away},
                                      {"expect", &Scenario::Expect},
                                      {"desired", &Scenario::ExpectDesired},
                                      {"env", &Scenario::ExpectEnv},
                                      {"refuses", &Scenario::ExpectRefusal},
                                      {"stale_counts", &Scenario::ExpectStaleCounts},
                                      {"all_over", &Scenario::ExpectAllOver}};
  const Words words = Split(line.substr(0, line.find('#')), ' ');
  if (words.empty()) return absl::OkStatus();
  const auto step = kSteps->find(words[0]);
  if (step == kSteps->end()) {
    return absl::InvalidArgumentError(absl::StrCat("unknown step ", words[0]));
  }
  try {
    ACCEL_RETURN_IF_ERROR((this->*step->second)(words));
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(error.what());
  }
  return CheckInvariants();
}

}  // namespace accel::scenarios
