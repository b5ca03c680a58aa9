// The expectations of scenarios, and the invariants that hold in every scenario.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/types/optional.h"
#include "common/job_phase.h"
#include "coordinator/core/desired_state.h"
#include "coordinator/core/job_state.h"
#include "tests/scenarios/scenario.h"
#include "tests/scenarios/words.h"

namespace accel::scenarios {
namespace {

constexpr char kLineThatHolds[] = "accel/scenario/line";

absl::Status Unmet(absl::string_view what, absl::string_view actual) {
  return absl::FailedPreconditionError(absl::StrCat("expected ", what, "; it is: ", actual));
}

// Returns an unmet expectation with the line that would hold: the first `begin` words of this line,
// followed by `holds`.
absl::Status Unmet(const std::vector<std::string>& words, size_t begin, absl::string_view actual,
                   absl::string_view holds) {
  absl::Status status = Unmet(Rest(words, begin), actual);
  const std::string kept = absl::StrJoin(words.begin(), words.begin() + begin, " ");
  status.SetPayload(kLineThatHolds, absl::Cord(absl::StrCat(kept, " ", holds)));
  return status;
}

absl::Status Unmet(const std::vector<std::string>& words, size_t begin, absl::string_view actual) {
  return Unmet(words, begin, actual, actual);
}

}  // namespace

std::optional<std::string> LineThatHolds(const absl::Status& played) {
  const absl::optional<absl::Cord> line = played.GetPayload(kLineThatHolds);
  return line.has_value() ? std::optional(std::string(*line)) : std::nullopt;
}

absl::Status Scenario::Expect(const Words& words) {
  const v1::Job& job = state_.jobs.at(common::JobId(RealId(words.at(1)))).job;
  const std::string actual = absl::StrCat(v1::JobPhase_Name(job.phase()), ": ", job.reason());
  const auto [name, value] = Option(words.at(2));
  const v1::GenerationRecord* generation = coordinator::CurrentGeneration(job);
  const std::map<std::string, int> numbers = {
      {"exit", job.exit_code()},
      {"failures", job.failures()},
      {"replans", job.replans()},
      {"start_failures", job.start_failures()},
      {"membership_changes", job.membership_changes()},
      {"generation", generation == nullptr ? 0 : generation->generation()}};
  const auto number = numbers.find(name);
  if (number != numbers.end()) {
    if (number->second == Number(value)) return absl::OkStatus();
    return Unmet(words, 2, absl::StrCat(number->second), absl::StrCat(name, "=", number->second));
  }
  if (name == "reason") {
    if (job.reason() == Rest(words, 2).substr(7)) return absl::OkStatus();
    return Unmet(words, 2, actual, absl::StrCat("reason=", job.reason()));
  }
  if (absl::StartsWith(words[2], "cause~")) {
    const std::string cause = job.cause().ShortDebugString();
    const std::string part = Rest(words, 2).substr(6);
    return absl::StrContains(cause, part) ? absl::OkStatus() : Unmet(Rest(words, 1), cause);
  }
  const bool has_text = words.size() > 4;
  if (v1::JobPhase_Name(job.phase()) == words[2] &&
      (!has_text || absl::StrContains(job.reason(), Rest(words, 4)))) {
    return absl::OkStatus();
  }
  const std::string text = has_text ? absl::StrCat(" ~ ", job.reason()) : "";
  return Unmet(words, 2, actual, v1::JobPhase_Name(job.phase()) + text);
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

v1::NodeDesired Scenario::DesiredOf(const common::NodeId& node) const {
  coordinator::SharedStarts starts;
  return coordinator::Whole(
      coordinator::BuildDesired(state_, state_.nodes.at(node), {}, state_.revision, &starts));
}

absl::Status Scenario::ExpectDesired(const Words& words) {
  const common::NodeId id(Node(words.at(1)).observed().node_id());
  const std::string actual = Summary(DesiredOf(id));
  return actual == Rest(words, 3) ? absl::OkStatus() : Unmet(words, 3, actual);
}

absl::Status Scenario::ExpectEnv(const Words& words) {
  const std::vector<std::string> names = Split(words.at(2), '.');
  const common::NodeId id(Node(words.at(1)).observed().node_id());
  const v1::NodeDesired desired = DesiredOf(id);
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
      if (found == env.end()) return absl::OkStatus();
      return Unmet(words, 4, found->second, absl::StrCat(found->first, "=", found->second));
    }
    const auto found = env.find(std::string(name));
    if (found == env.end()) return Unmet(words, 4, "absent", absl::StrCat(name, "!"));
    if (found->second == value) return absl::OkStatus();
    return Unmet(words, 4, found->second, absl::StrCat(name, "=", found->second));
  }
  return absl::InvalidArgumentError(absl::StrCat(words[1], " is to start no ", words[2]));
}

absl::Status Scenario::ExpectRefusal(const Words& words) {
  const common::NodeId id(Node(words.at(1)).observed().node_id());
  std::string actual = coordinator::WhyRefuses(state_.nodes.at(id), now_);
  for (size_t i = 0; i < jobs_.size(); ++i) {
    actual = absl::StrReplaceAll(actual, {{jobs_[i].value(), absl::StrCat("j", i + 1)}});
  }
  if (actual.empty()) actual = "nothing";
  return actual == Rest(words, 3) ? absl::OkStatus() : Unmet(words, 3, actual);
}

absl::Status Scenario::ExpectStaleCounts(const Words& words) {
  const std::string actual =
      absl::StrCat("sessions=", state_.stale.sessions, " generations=", state_.stale.generations);
  return actual == Rest(words, 1) ? absl::OkStatus() : Unmet(words, 1, actual);
}

absl::Status Scenario::ExpectAllOver(const Words& words) {
  if (state_.unfinished.ids().empty()) return absl::OkStatus();
  const v1::Job& job = state_.jobs.at(*state_.unfinished.ids().begin()).job;
  return Unmet("every job over", absl::StrCat(Alias(job.job_id()), " is ",
                                              v1::JobPhase_Name(job.phase()), ": ", job.reason()));
}

absl::Status Scenario::CheckInvariants() {
  std::set<std::string> gpus, sockets;
  for (const auto& [id, entry] : state_.jobs) {
    const v1::JobPhase phase = entry.job.phase();
    const auto [final, first] = final_phases_.emplace(id, phase);
    if (common::IsFinal(final->second) && final->second != phase)
      return Unmet("one final phase", "two");
    final->second = phase;
    if (phase == v1::SUCCEEDED &&
        (entry.job.has_cause() || entry.job.generations().rbegin()->has_cause())) {
      return Unmet("a success without a cause", entry.job.ShortDebugString());
    }
    if (!coordinator::HoldsNodes(phase)) continue;
    const v1::GenerationRecord& generation = *coordinator::CurrentGeneration(entry.job);
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
      if (!sockets.insert(absl::StrCat(placement.node_id(), "/", placement.store_socket()))
               .second) {
        return Unmet("one user of a spare socket", "two");
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace accel::scenarios
