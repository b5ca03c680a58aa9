// The events of scenarios: what happens to nodes, to their agents and to their processes without
// the coordinator. Most events end with a report of the node. The rest of the class is in
// scenario.cc.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coordinator/core/observe.h"
#include "tests/scenarios/scenario.h"
#include "tests/scenarios/words.h"

namespace accel::scenarios {

absl::Status Scenario::AddNode(const Words& words) {
  int gpus = 0, sockets = 2, cpus = 8;
  std::string address = "127.0.0.1";
  absl::Duration clock;
  for (size_t i = 2; i < words.size(); ++i) {
    const auto [name, value] = Option(words[i]);
    if (name == "gpus") gpus = Number(value);
    if (name == "sockets") sockets = Number(value);
    if (name == "cpus") cpus = Number(value);
    if (name == "address") address = value;
    if (name == "clock") clock = ParseDuration(value);
  }
  auto node = std::make_unique<FakeNode>(words.at(1), gpus, sockets, address, cpus);
  node->SetClock(clock);
  sessions_[words[1]] = next_session_++;
  return Report((nodes_[words[1]] = std::move(node)).get());
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
    } else if (words[4] == "HUNG") {
      exit->set_kind(v1::ExitRecord::HUNG);
    } else if (absl::StartsWith(words[4], "SIG")) {
      exit->set_signal(Number(words[4].substr(3)));
    } else {
      exit->set_kind(v1::ExitRecord::EXITED);
      exit->set_code(Number(words[4]));
    }
    const absl::Duration ago =
        words.size() > 5 ? ParseDuration(Option(words[5]).second) : absl::ZeroDuration();
    worker.set_ended_us(Node(words[1]).Shows(now_ - ago));
    return Report(&Node(words[1]));
  }
  return absl::InvalidArgumentError(absl::StrCat(words[1], " has no rank ", words[3]));
}

absl::Status Scenario::Checkpoint(const Words& words) {
  v1::ObservedGeneration& part = Part(words.at(1), words.at(2));
  part.set_checkpoints(part.checkpoints() + 1);
  return Report(&Node(words[1]));
}

absl::Status Scenario::Fail(const Words& words) {
  v1::ObservedGeneration& part = Part(words.at(1), words.at(2));
  part.mutable_failure()->set_kind(v1::ExitRecord::NOT_STARTED);
  part.mutable_failure()->set_code(words[0] == "fail" ? 127 : 1);
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
    worker.set_ended_us(Node(words[1]).Shows(now_));
  }
  return Report(&Node(words[1]));
}

absl::Status Scenario::Vanish(const Words& words) {
  Node(words.at(1)).sockets_vanish = words.size() == 2;
  return absl::OkStatus();
}

absl::Status Scenario::Link(const Words& words) {
  FakeNode& node = Node(words.at(1));
  const common::NodeId id(node.observed().node_id());
  if (words[0] == "mute" || words[0] == "unmute") {
    node.muted = words[0] == "mute";
    return absl::OkStatus();
  }
  if (words[0] == "disconnect") {
    coordinator::CloseSession(sessions_[words[1]], id, &state_);
    readers_.erase(sessions_[words[1]]);
    node.muted = true;
    return Plan();
  }
  if (words[0] == "goodbye") {
    node.observed().set_goodbye(Rest(words, 2));
    return Report(&node);
  }
  if (words[0] == "agent_stops") {
    node.observed().set_agent_stops(Rest(words, 2));
    return Report(&node);
  }
  if (words[0] == "refuse") {
    node.observed().set_refuses_work(Rest(words, 2));
    return Report(&node);
  }
  if (words[0] == "restart" || words[0] == "reboot") {
    // The agent's process ends, and the kernel closes its connection.
    coordinator::CloseSession(sessions_[words[1]], id, &state_);
    readers_.erase(sessions_[words[1]]);
    words[0] == "reboot" ? node.Reboot() : node.RestartAgent(/*forgets=*/words.size() > 2);
  }
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

}  // namespace accel::scenarios
