#include "tests/scenarios/scenario.h"

#include <set>
#include <stdexcept>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "coordinator/core/desired_state.h"
#include "coordinator/core/facts.h"
#include "coordinator/core/job_state.h"
#include "coordinator/core/planner.h"

namespace accel::testing {
namespace {

std::vector<std::string> Split(absl::string_view text, char by) {
  return absl::StrSplit(text, by, absl::SkipEmpty());
}

int Number(absl::string_view text) {
  int value = 0;
  if (!absl::SimpleAtoi(text, &value)) {
    throw std::invalid_argument(absl::StrCat("not a number: ", text));
  }
  return value;
}

absl::Duration ParseDuration(absl::string_view text) {
  absl::Duration value;
  if (!absl::ParseDuration(text, &value)) {
    throw std::invalid_argument(absl::StrCat("not a duration: ", text));
  }
  return value;
}

// "nodes=2" gives {"nodes", "2"}; "cpu" gives {"cpu", ""}.
std::pair<std::string, std::string> Option(absl::string_view word) {
  return absl::StrSplit(word, absl::MaxSplits('=', 1));
}

absl::Status Unmet(absl::string_view what, absl::string_view actual) {
  return absl::FailedPreconditionError(absl::StrCat("expected ", what, "; it is: ", actual));
}

std::string Rest(const std::vector<std::string>& words, size_t from) {
  return absl::StrJoin(words.begin() + static_cast<std::ptrdiff_t>(from), words.end(), " ");
}

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
    } else if (name == "time_limit") {
      spec.set_time_limit_ms(absl::ToInt64Milliseconds(ParseDuration(value)));
    } else if (name == "start_deadline") {
      spec.set_start_deadline_ms(absl::ToInt64Milliseconds(ParseDuration(value)));
    } else {
      throw std::invalid_argument(absl::StrCat("submit: unknown option ", name));
    }
  }
  return spec;
}

}  // namespace

Scenario::Scenario() {
  state_.opened_at = now_;
  state_.revision = 1000;
}

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

void Scenario::Plan() { PlanToRest(now_, now_, &state_, &changes_); }

absl::Status Scenario::Report(FakeNode* node) {
  SessionId superseded = 0;
  ACCEL_RETURN_IF_ERROR(
      Observe(sessions_[node->name()], node->Report(), now_, &state_, &changes_, &superseded));
  Plan();
  return absl::OkStatus();
}

absl::Status Scenario::AddNode(const Words& words) {
  int gpus = 0, sockets = 2;
  std::string address = "127.0.0.1";
  for (size_t i = 2; i < words.size(); ++i) {
    const auto [name, value] = Option(words[i]);
    if (name == "gpus") gpus = Number(value);
    if (name == "sockets") sockets = Number(value);
    if (name == "address") address = value;
  }
  auto node = std::make_unique<FakeNode>(words.at(1), gpus, sockets, address);
  sessions_[words[1]] = next_session_++;
  return Report((nodes_[words[1]] = std::move(node)).get());
}

absl::Status Scenario::Submit(const Words& words) {
  absl::StatusOr<JobId> job =
      SubmitJob(absl::StrCat("submit-", jobs_.size()), ParseSpec(words), now_, &state_, &changes_);
  ACCEL_RETURN_IF_ERROR(job.status());
  jobs_.push_back(*std::move(job));
  Plan();
  return absl::OkStatus();
}

absl::Status Scenario::Cancel(const Words& words) {
  ACCEL_RETURN_IF_ERROR(
      CancelJob(JobId(RealId(words.at(1))), words.size() > 2 && words[2] == "at_once", &state_));
  Plan();
  return absl::OkStatus();
}

absl::Status Scenario::Sync(const Words& words) {
  Words names(words.begin() + 1, words.end());
  if (names == Words{"all"}) {
    names.clear();
    for (const auto& [name, node] : nodes_) names.push_back(name);
  }
  for (const std::string& name : names) {
    FakeNode& node = Node(name);
    node.Apply(BuildDesired(state_, NodeId(node.observed().node_id()), {}, ++state_.revision));
    ACCEL_RETURN_IF_ERROR(Report(&node));
  }
  return absl::OkStatus();
}

absl::Status Scenario::Run(const Words& words) {
  Part(words.at(1), words.at(2)).set_state(v1::ObservedGeneration::RUNNING);
  return Report(&Node(words[1]));
}

absl::Status Scenario::Exit(const Words& words) {
  v1::ObservedGeneration& part = Part(words.at(1), words.at(2));
  for (v1::ObservedWorker& worker : *part.mutable_workers()) {
    if (worker.rank() != Number(words.at(3))) continue;
    v1::ExitRecord* exit = worker.mutable_exit();
    exit->set_kind(v1::ExitRecord::SIGNALLED);
    if (words.at(4) == "OOM") {
      exit->set_signal(9);
      exit->set_out_of_memory(true);
    } else if (absl::StartsWith(words[4], "SIG")) {
      exit->set_signal(Number(words[4].substr(3)));
    } else {
      exit->set_kind(v1::ExitRecord::EXITED);
      exit->set_code(Number(words[4]));
    }
    return Report(&Node(words[1]));
  }
  return absl::InvalidArgumentError(absl::StrCat(words[1], " has no rank ", words[3]));
}

absl::Status Scenario::Fail(const Words& words) {
  v1::ObservedGeneration& part = Part(words.at(1), words.at(2));
  part.mutable_failure()->set_kind(v1::ExitRecord::NOT_STARTED);
  part.mutable_failure()->set_code(127);
  part.mutable_failure()->set_message(Rest(words, 3));
  part.set_state(v1::ObservedGeneration::ENDED);
  part.clear_workers();
  return Report(&Node(words[1]));
}

absl::Status Scenario::End(const Words& words) {
  v1::ObservedGeneration& part = Part(words.at(1), words.at(2));
  part.set_state(v1::ObservedGeneration::ENDED);
  for (v1::ObservedWorker& worker : *part.mutable_workers()) {
    if (worker.has_exit()) continue;
    worker.mutable_exit()->set_kind(v1::ExitRecord::SIGNALLED);
    worker.mutable_exit()->set_signal(15);
  }
  return Report(&Node(words[1]));
}

absl::Status Scenario::Vanish(const Words& words) {
  Node(words.at(1)).sockets_vanish = words.size() == 2;
  return absl::OkStatus();
}

absl::Status Scenario::Link(const Words& words) {
  FakeNode& node = Node(words.at(1));
  const NodeId id(node.observed().node_id());
  if (words[0] == "mute" || words[0] == "unmute") {
    node.muted = words[0] == "mute";
    return absl::OkStatus();
  }
  if (words[0] == "disconnect") {
    CloseSession(sessions_[words[1]], id, &state_);
    node.muted = true;
    Plan();
    return absl::OkStatus();
  }
  if (words[0] == "refuse") {
    node.observed().set_refuses_work(Rest(words, 2));
    return Report(&node);
  }
  if (words[0] == "restart") node.Restart();
  node.muted = false;
  sessions_[words[1]] = next_session_++;
  return Report(&node);
}

absl::Status Scenario::Stale(const Words& words) {
  FakeNode& node = Node(words.at(1));
  const std::vector<std::string> names = Split(words.at(2), '.');
  v1::ObservedGeneration* part = node.observed().add_generations();
  part->set_job_id(RealId(names.at(0)));
  part->set_generation(Number(names.at(1)));
  part->set_state(v1::ObservedGeneration::RUNNING);
  return Report(&node);
}

absl::Status Scenario::Advance(const Words& words) {
  absl::Duration left = ParseDuration(words.at(1));
  while (left > absl::ZeroDuration()) {
    const absl::Duration step = std::min(left, absl::Seconds(1));
    now_ += step;
    left -= step;
    for (auto& [name, node] : nodes_) {
      if (!node->muted) ACCEL_RETURN_IF_ERROR(Report(node.get()));
    }
    Plan();
  }
  return absl::OkStatus();
}

absl::Status Scenario::Expect(const Words& words) {
  const v1::Job& job = state_.jobs.at(JobId(RealId(words.at(1)))).job;
  const std::string actual = absl::StrCat(v1::JobPhase_Name(job.phase()), ": ", job.reason());
  const auto [name, value] = Option(words.at(2));
  const v1::GenerationRecord* generation = CurrentGeneration(job);
  const std::map<std::string, int> numbers = {
      {"exit", job.exit_code()},
      {"failures", job.failures()},
      {"replans", job.replans()},
      {"generation", generation == nullptr ? 0 : generation->generation()}};
  const auto number = numbers.find(name);
  if (number != numbers.end()) {
    if (number->second == Number(value)) return absl::OkStatus();
    return Unmet(Rest(words, 1), absl::StrCat(number->second));
  }
  if (absl::StartsWith(words[2], "cause~")) {
    const std::string cause = job.cause().ShortDebugString();
    const std::string part = Rest(words, 2).substr(6);
    return absl::StrContains(cause, part) ? absl::OkStatus() : Unmet(Rest(words, 1), cause);
  }
  if (v1::JobPhase_Name(job.phase()) != words[2]) return Unmet(Rest(words, 1), actual);
  if (words.size() > 4 && !absl::StrContains(job.reason(), Rest(words, 4))) {
    return Unmet(Rest(words, 1), actual);
  }
  return absl::OkStatus();
}

std::string Scenario::Summary(const v1::NodeDesired& desired) const {
  std::vector<std::string> parts;
  for (const v1::DesiredGeneration& generation : desired.generations()) {
    const std::string key =
        absl::StrCat(Alias(generation.key().job_id()), ".", generation.key().generation());
    if (generation.stop()) {
      parts.push_back(absl::StrCat(key, " stop ", generation.grace_ms(), "ms"));
      continue;
    }
    parts.push_back(absl::StrCat(key, " ranks ", generation.workers(0).rank(), "-",
                                 generation.workers().rbegin()->rank(),
                                 generation.store_socket() == 0 ? "" : " store"));
  }
  for (const v1::GenerationKey& key : desired.forget()) {
    parts.push_back(absl::StrCat("forget ", Alias(key.job_id()), ".", key.generation()));
  }
  return parts.empty() ? "nothing" : absl::StrJoin(parts, "; ");
}

absl::Status Scenario::ExpectDesired(const Words& words) {
  const NodeId id(Node(words.at(1)).observed().node_id());
  const std::string actual = Summary(BuildDesired(state_, id, {}, state_.revision));
  return actual == Rest(words, 3) ? absl::OkStatus() : Unmet(Rest(words, 3), actual);
}

absl::Status Scenario::ExpectEnv(const Words& words) {
  const std::vector<std::string> names = Split(words.at(2), '.');
  const NodeId id(Node(words.at(1)).observed().node_id());
  const v1::NodeDesired desired = BuildDesired(state_, id, {}, state_.revision);
  for (const v1::DesiredGeneration& generation : desired.generations()) {
    if (generation.key().job_id() != RealId(names.at(0))) continue;
    std::map<std::string, std::string> env;
    for (const v1::EnvVar& variable : generation.env()) env[variable.name()] = variable.value();
    for (const v1::DesiredWorker& worker : generation.workers()) {
      if (worker.rank() != Number(words.at(3))) continue;
      for (const v1::EnvVar& variable : worker.env()) env[variable.name()] = variable.value();
    }
    const auto [name, value] = Option(words.at(4));
    if (absl::EndsWith(name, "!")) {
      const auto found = env.find(name.substr(0, name.size() - 1));
      return found == env.end() ? absl::OkStatus() : Unmet(words[4], found->second);
    }
    return env.count(name) != 0 && env[name] == value ? absl::OkStatus()
                                                      : Unmet(words[4], env[name]);
  }
  return absl::InvalidArgumentError(absl::StrCat(words[1], " is to start no ", words[2]));
}

absl::Status Scenario::ExpectStaleCounts(const Words& words) {
  const std::string actual =
      absl::StrCat("sessions=", state_.stale.sessions, " generations=", state_.stale.generations);
  return actual == Rest(words, 1) ? absl::OkStatus() : Unmet(Rest(words, 1), actual);
}

absl::Status Scenario::Play(absl::string_view line) {
  static const auto* const kSteps =
      new std::map<std::string, Step>{{"node", &Scenario::AddNode},
                                      {"submit", &Scenario::Submit},
                                      {"cancel", &Scenario::Cancel},
                                      {"sync", &Scenario::Sync},
                                      {"run", &Scenario::Run},
                                      {"exit", &Scenario::Exit},
                                      {"fail", &Scenario::Fail},
                                      {"end", &Scenario::End},
                                      {"vanish", &Scenario::Vanish},
                                      {"restart", &Scenario::Link},
                                      {"disconnect", &Scenario::Link},
                                      {"reconnect", &Scenario::Link},
                                      {"mute", &Scenario::Link},
                                      {"unmute", &Scenario::Link},
                                      {"refuse", &Scenario::Link},
                                      {"stale", &Scenario::Stale},
                                      {"advance", &Scenario::Advance},
                                      {"expect", &Scenario::Expect},
                                      {"desired", &Scenario::ExpectDesired},
                                      {"env", &Scenario::ExpectEnv},
                                      {"stale_counts", &Scenario::ExpectStaleCounts}};
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

absl::Status Scenario::CheckInvariants() {
  std::set<std::string> gpus, sockets;
  for (const auto& [id, entry] : state_.jobs) {
    const v1::JobPhase phase = entry.job.phase();
    const auto [final, first] = final_phases_.emplace(id, phase);
    if (IsFinal(final->second) && final->second != phase) return Unmet("one final phase", "two");
    final->second = phase;
    if (!HoldsNodes(phase)) continue;
    const v1::GenerationRecord& generation = *CurrentGeneration(entry.job);
    int next_rank = 0;
    for (const v1::Placement& placement : generation.placements()) {
      if (placement.first_rank() != next_rank) return Unmet("dense ranks", "a gap");
      next_rank += placement.processes();
      for (int gpu : placement.gpu_ids()) {
        if (!gpus.insert(absl::StrCat(placement.node_id(), "/", gpu)).second) {
          return Unmet("one holder of a GPU", absl::StrCat("two of ", gpu));
        }
      }
      if (placement.store_socket() == 0) continue;
      if (!sockets.insert(absl::StrCat(placement.incarnation(), "/", placement.store_socket()))
               .second) {
        return Unmet("one user of a spare socket", "two");
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace accel::testing
