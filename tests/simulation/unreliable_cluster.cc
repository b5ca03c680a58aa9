#include "tests/simulation/unreliable_cluster.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"

namespace accel::simulation {
namespace {

constexpr absl::Duration kTurn = absl::Milliseconds(50);
constexpr int kNodes = 3;

}  // namespace

UnreliableCluster::UnreliableCluster(uint32_t seed, const PlantedBug* bug)
    : seed_(seed),
      disk_(seed, &habits_.disk, bug, &seen_, &clock_),
      disk_of_stranger_(seed + 1, &habits_.disk, bug, &seen_, &clock_),
      coordinator_("home", seed, &disk_, bug, &clock_),
      stranger_("another", seed + 1, &disk_of_stranger_, bug, &clock_),
      invariants_(&nodes_, &clients_, &disk_, &operator_, &coordinator_, &seen_, &clock_, kTurn) {
  for (int i = 0; i < kNodes; ++i) {
    nodes_.push_back(std::make_unique<UnreliableNode>(
        absl::StrCat("n", i + 1), /*gpus=*/i, seed * 7 + static_cast<uint32_t>(i), &habits_.nodes,
        bug, &seen_, &coordinator_, &clock_));
  }
}

absl::Status UnreliableCluster::Turn() {
  clock_.Advance(kTurn);
  if (coordinator_.runs()) disk_.Run();
  ACCEL_RETURN_IF_ERROR(coordinator_.Run());
  disk_of_stranger_.Run();
  ACCEL_RETURN_IF_ERROR(stranger_.Run());
  invariants_.NoteSilence();
  // Only what is committed is published, so nothing else can have changed.
  const bool changed = disk_.commits() != commits_listed_ || coordinator_.life() != life_listed_;
  if (coordinator_.runs() && changed) {
    commits_listed_ = disk_.commits();
    life_listed_ = coordinator_.life();
    ACCEL_RETURN_IF_ERROR(invariants_.TakeJobs(ListJobs()));
  }
  coordinator_.KillIfCommitting();
  for (const auto& node : nodes_) node->Run();
  for (const auto& client : clients_) client->Run();
  operator_.Run();
  return invariants_.Check();
}

std::vector<coordinator::JobPtr> UnreliableCluster::ListJobs() {
  std::vector<coordinator::JobPtr> found;
  coordinator_.process()->ListJobs(coordinator::Owner(), common::JobId(),
                                   [&found](absl::StatusOr<std::vector<coordinator::JobPtr>> jobs) {
                                     if (jobs.ok()) found = *std::move(jobs);
                                   });
  coordinator_.loop()->RunOnce();
  return found;
}

absl::Status UnreliableCluster::Run(absl::Duration time) {
  for (const absl::Time end = clock_.Now() + time; clock_.Now() < end;) {
    ACCEL_RETURN_IF_ERROR(Turn());
  }
  return absl::OkStatus();
}

bool UnreliableCluster::IsOver() const {
  return std::all_of(clients_.begin(), clients_.end(),
                     [](const auto& client) { return client->done(); }) &&
         std::all_of(nodes_.begin(), nodes_.end(),
                     [](const auto& node) { return node->processes().empty(); });
}

absl::Status UnreliableCluster::RunToTheEnd(absl::Duration longest) {
  habits_.nodes.network = {.longest_delay = absl::Milliseconds(10), .doubled = 0};
  habits_.clients = {.longest_delay = absl::Milliseconds(10), .lost = 0};
  habits_.disk.slow = 0;
  disk_.Repair();
  coordinator_.EndFaults();
  operator_.EndDrains();
  for (const auto& node : nodes_) {
    node->EndFaults();
    node->link().Cut(false, false);
  }
  for (const absl::Time end = clock_.Now() + longest; clock_.Now() < end;) {
    ACCEL_RETURN_IF_ERROR(Run(absl::Seconds(1)));
    if (IsOver()) return absl::OkStatus();
  }
  return absl::DeadlineExceededError(
      absl::StrCat(absl::FormatDuration(longest), " after the last fault: ", WhatIsLeft()));
}

std::string UnreliableCluster::WhatIsLeft() const {
  std::vector<std::string> left;
  for (const auto& client : clients_) {
    if (client->done()) continue;
    left.push_back(absl::StrCat("job ", client->number(), " ",
                                client->job().has_value() ? invariants_.Describe(*client->job())
                                                          : "was never acknowledged"));
  }
  for (const auto& node : nodes_) {
    for (const auto& [job, shim] : node->processes().shims()) {
      left.push_back(absl::StrCat(node->name(), " has the shim of ", job.value()));
    }
  }
  return absl::StrJoin(left, "; ");
}

void UnreliableCluster::Submit(int number, v1::JobSpec spec) {
  clients_.push_back(std::make_unique<SimulatedClient>(number, std::move(spec),
                                                       seed_ * 101 + static_cast<uint32_t>(number),
                                                       &habits_.clients, &coordinator_, &clock_));
}

SimulatedClient* UnreliableCluster::client(int number) {
  for (const auto& client : clients_) {
    if (client->number() == number) return client.get();
  }
  return nullptr;
}

UnreliableNode* UnreliableCluster::node(absl::string_view name) {
  for (const auto& node : nodes_) {
    if (node->name() == name) return node.get();
  }
  return nullptr;
}

}  // namespace accel::simulation
