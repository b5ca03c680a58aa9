#include "tests/simulation/schedule.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"

namespace accel::simulation {
namespace {

// The words of one event, which are taken one after the other.
class Words {
 public:
  explicit Words(const std::string& all)
      : all_(all), left_(absl::StrSplit(all, ' ', absl::SkipEmpty())) {}

  absl::Status Bad(absl::string_view why) const {
    return absl::InvalidArgumentError(absl::StrCat("\"", all_, "\": ", why));
  }

  // Takes the first word. Empty if there is none.
  std::string Take() {
    if (left_.empty()) return "";
    std::string first = std::move(left_.front());
    left_.erase(left_.begin());
    return first;
  }

  absl::StatusOr<int> TakeNumber() {
    int number = 0;
    if (!absl::SimpleAtoi(Take(), &number)) return Bad("a number is missing");
    return number;
  }

  absl::StatusOr<absl::Duration> TakeTime() {
    absl::Duration time;
    if (!absl::ParseDuration(Take(), &time)) return Bad("a time is missing");
    return time;
  }

  // Takes "stored", "torn" or "lost".
  absl::StatusOr<Remains> TakeRemains() {
    const std::string word = Take();
    if (word == "stored") return Remains::kWhole;
    if (word == "torn") return Remains::kTorn;
    if (word == "lost") return Remains::kNothing;
    return Bad("\"stored\", \"torn\" or \"lost\" is missing");
  }

  absl::StatusOr<StartStep> TakeStep() {
    const std::string word = Take();
    if (word == "intent") return StartStep::kIntent;
    if (word == "spawn") return StartStep::kSpawn;
    if (word == "record") return StartStep::kRecord;
    if (word == "start") return StartStep::kStart;
    return Bad("a step of a start is missing");
  }

  // Returns true and takes the word if it is among those that are left.
  bool Has(absl::string_view word) {
    const auto found = std::find(left_.begin(), left_.end(), word);
    if (found == left_.end()) return false;
    left_.erase(found);
    return true;
  }

  absl::Status End() const {
    return left_.empty() ? absl::OkStatus() : Bad(absl::StrCat("\"", left_[0], "\" is unexpected"));
  }

 private:
  const std::string all_;
  std::vector<std::string> left_;
};

absl::Status Set(absl::string_view name, absl::string_view value, v1::JobSpec* spec) {
  int number = 0;
  absl::Duration time;
  if (absl::SimpleAtoi(value, &number)) {
    if (name == "nodes") return spec->set_nodes(number), absl::OkStatus();
    if (name == "min_nodes") return spec->set_min_nodes(number), absl::OkStatus();
    if (name == "processes") return spec->add_processes_per_node(number), absl::OkStatus();
    if (name == "max_restarts") return spec->set_max_restarts(number), absl::OkStatus();
  } else if (absl::ParseDuration(value, &time)) {
    const int64_t millis = absl::ToInt64Milliseconds(time);
    if (name == "stop_on_disconnect") {
      return spec->set_stop_on_disconnect_after_ms(millis), absl::OkStatus();
    }
    if (name == "hang_timeout") return spec->set_hang_timeout_ms(millis), absl::OkStatus();
    if (name == "time_limit") return spec->set_time_limit_ms(millis), absl::OkStatus();
    if (name == "stop_grace") return spec->set_stop_grace_ms(millis), absl::OkStatus();
    if (name == "failure_grace") return spec->set_failure_grace_ms(millis), absl::OkStatus();
  } else if (name == "cpu") {
    return spec->set_cpu(true), absl::OkStatus();
  } else if (name == "ends_with_agent") {
    return spec->set_on_agent_loss(v1::END), absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(name, "=", value));
}

absl::Status Submit(Words words, UnreliableCluster* cluster) {
  ACCEL_ASSIGN_OR_RETURN(const int number, words.TakeNumber());
  v1::JobSpec spec;
  spec.add_argv("train");
  spec.add_argv(absl::StrCat(number));
  spec.set_workdir("/");
  spec.set_on_agent_loss(v1::KEEP);
  for (std::string word = words.Take(); !word.empty(); word = words.Take()) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(word, absl::MaxSplits('=', 1));
    if (!Set(field.first, field.second, &spec).ok()) return words.Bad(word);
  }
  if (cluster->client(number) != nullptr) return words.Bad("the job was already submitted");
  cluster->Submit(number, std::move(spec));
  return absl::OkStatus();
}

absl::Status PerformOnCoordinator(const std::string& verb, Words words,
                                  UnreliableCluster* cluster) {
  if (verb == "pause_coordinator" || verb == "disk_full") {
    ACCEL_ASSIGN_OR_RETURN(const absl::Duration time, words.TakeTime());
    if (verb == "disk_full") {
      cluster->disk().FillFor(time);
    } else {
      cluster->coordinator().Pause(time);
    }
    return words.End();
  }
  ACCEL_ASSIGN_OR_RETURN(const Remains remains, words.TakeRemains());
  if (verb == "disk_fails") {
    cluster->disk().FailNext(remains);
    return words.End();
  }
  ACCEL_ASSIGN_OR_RETURN(const absl::Duration away, words.TakeTime());
  const bool reboot = words.Has("reboot");
  if (verb == "crash") {
    cluster->coordinator().Kill(remains, away, reboot);
  } else if (verb == "crash_at_commit") {
    cluster->coordinator().KillAtCommit(remains, away, reboot);
  } else {
    return words.Bad("there is no such event");
  }
  return words.End();
}

absl::Status KillShim(Words words, UnreliableCluster* cluster, UnreliableNode* node) {
  ACCEL_ASSIGN_OR_RETURN(const int number, words.TakeNumber());
  const SimulatedClient* client = cluster->client(number);
  if (client != nullptr && client->job().has_value()) node->KillShim(*client->job());
  return words.End();
}

absl::Status KillAgentInStart(Words words, UnreliableNode* node) {
  ACCEL_ASSIGN_OR_RETURN(const StartStep step, words.TakeStep());
  ACCEL_ASSIGN_OR_RETURN(const absl::Duration away, words.TakeTime());
  node->KillAgentInStart(step, away);
  return words.End();
}

absl::Status PerformOnNode(const std::string& verb, Words words, UnreliableCluster* cluster,
                           UnreliableNode* node) {
  if (verb == "join") {
    node->link().Cut(false, false);
  } else if (verb == "drain") {
    cluster->drains().Drain(node->name(), words.Has("now") ? v1::MOVE_JOBS : v1::FINISH_JOBS);
  } else if (verb == "undrain") {
    cluster->drains().Drain(node->name(), v1::NOT_DRAINED);
  } else if (verb == "cut") {
    const bool up = words.Has("up");
    node->link().Cut(up, words.Has("down"));
  } else {
    ACCEL_ASSIGN_OR_RETURN(const absl::Duration time, words.TakeTime());
    if (verb == "pause_agent") {
      node->PauseAgent(time);
    } else if (verb == "kill_agent") {
      node->KillAgent(time);
    } else if (verb == "reboot") {
      node->Reboot(time);
    } else if (verb == "set_clock") {
      node->host_clock().SetWall(time);
    } else if (verb == "lose_power") {
      node->LosePower(time);
    } else if (verb == "node_disk_full") {
      node->disk().FailFor(time, absl::ResourceExhaustedError("No space left on device"));
    } else if (verb == "node_disk_fails") {
      node->disk().FailFor(time, absl::UnavailableError("Input/output error"));
    } else if (verb == "shut_down") {
      node->ShutDown(time);
    } else if (verb == "go_astray") {
      node->GoAstray(&cluster->stranger(), time);
    } else if (verb == "break") {
      node->link().Break(time);
    } else {
      return words.Bad("there is no such event");
    }
  }
  return words.End();
}

absl::Status PerformOnClient(const std::string& verb, Words words, UnreliableCluster* cluster) {
  ACCEL_ASSIGN_OR_RETURN(const int number, words.TakeNumber());
  const bool at_once = words.Has("at_once");
  ACCEL_RETURN_IF_ERROR(words.End());
  SimulatedClient* client = cluster->client(number);
  if (client == nullptr) return absl::OkStatus();
  if (verb == "drop") {
    client->Drop();
  } else {
    client->Cancel(at_once);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Perform(const Event& event, UnreliableCluster* cluster) {
  Words words(event.words);
  const std::string verb = words.Take();
  if (verb == "submit") return Submit(std::move(words), cluster);
  if (verb == "cancel" || verb == "drop") return PerformOnClient(verb, std::move(words), cluster);
  Words after_name = words;
  if (UnreliableNode* node = cluster->node(after_name.Take())) {
    if (verb == "kill_shim") return KillShim(std::move(after_name), cluster, node);
    if (verb == "kill_agent_in_start") return KillAgentInStart(std::move(after_name), node);
    return PerformOnNode(verb, std::move(after_name), cluster, node);
  }
  return PerformOnCoordinator(verb, std::move(words), cluster);
}

std::string ToText(const Schedule& schedule) {
  std::string text = absl::StrCat("seed ", schedule.seed, "\n");
  for (const Event& event : schedule.events) {
    absl::StrAppend(&text, absl::FormatDuration(event.at), " ", event.words, "\n");
  }
  return text;
}

absl::StatusOr<Schedule> ParseSchedule(absl::string_view text) {
  Schedule schedule;
  int number = 0;
  bool seeded = false;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    if (parts.first == "seed" && !seeded && absl::SimpleAtoi(parts.second, &schedule.seed)) {
      seeded = true;
      continue;
    }
    Event event{.at = {}, .words = std::string(absl::StripAsciiWhitespace(parts.second))};
    const bool ordered = absl::ParseDuration(parts.first, &event.at) &&
                         (schedule.events.empty() || event.at >= schedule.events.back().at);
    if (!seeded || !ordered || event.words.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "line ", number, ": expected ", seeded ? "a later time and an event" : "\"seed NUMBER\"",
          ", not \"", line, "\""));
    }
    schedule.events.push_back(std::move(event));
  }
  if (!seeded) return absl::InvalidArgumentError("the schedule has no seed");
  return schedule;
}

}  // namespace accel::simulation
