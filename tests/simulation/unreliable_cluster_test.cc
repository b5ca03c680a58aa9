// Random schedules over the real loops. Jobs are submitted and cancelled. Workers fail, hang and
// ignore SIGTERM. Agents die, and agents and the coordinator are paused. Messages are delayed,
// doubled and lost, streams break, and the network is partitioned. The processes that really run
// must satisfy the invariants at each moment. Once the faults stop, every job must end without
// help. A failure names its seed, and each action with its time.

#include "tests/simulation/unreliable_cluster.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace accel::simulation {
namespace {

class RandomSchedule {
 public:
  explicit RandomSchedule(uint32_t seed) : random_(seed), cluster_(seed, &habits_) {}

  ::testing::AssertionResult Play(int events) {
    absl::Status status = cluster_.Run(absl::Seconds(2));
    for (int i = 0; i < events && status.ok(); ++i) {
      Fault();
      status = cluster_.Run(absl::Milliseconds(100 + Below(1'500)));
    }
    if (status.ok()) status = Calm();
    if (status.ok()) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << status << "\n" << absl::StrJoin(said_, "\n");
  }

 private:
  int Below(int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(random_); }
  absl::Duration UpTo(absl::Duration longest) { return longest * Below(1'000) / 1'000; }

  void Say(const std::string& what) {
    const absl::Duration at = cluster_.now() - absl::UnixEpoch() - absl::Hours(1);
    said_.push_back(absl::StrCat(absl::FormatDuration(at), ": ", what));
  }

  void Submit() {
    v1::JobSpec spec;
    spec.add_argv("train");
    spec.set_workdir("/");
    spec.set_nodes(1 + Below(3));
    spec.add_processes_per_node(1 + Below(2));
    spec.set_cpu(Below(3) != 0);
    if (!spec.cpu()) spec.set_nodes(1);
    spec.set_max_restarts(Below(4));
    if (Below(4) == 0) spec.set_time_limit_ms(5'000 + Below(20'000));
    // A job that ends with its agent is a loss of the node that the checks would have to expect.
    spec.set_on_agent_loss(v1::KEEP);
    Say(absl::StrCat("submit ", spec.ShortDebugString()));
    cluster_.Submit(std::move(spec));
  }

  void Fault() {
    const int index = Below(cluster_.nodes());
    UnreliableNode& node = cluster_.node(index);
    const absl::Duration time = UpTo(absl::Seconds(12));
    switch (Below(11)) {
      case 0:
      case 1:
      case 2:
        return Submit();
      case 3: {
        const int job = Below(12);
        Say(absl::StrCat("cancel ", job));
        return cluster_.Cancel(job, Below(2) == 0);
      }
      case 4:
        Say(absl::StrCat("kill the agent of ", node.name(), " for ", absl::FormatDuration(time)));
        return node.KillAgent(cluster_.now() + time);
      case 5:
        Say(absl::StrCat("pause the agent of ", node.name(), " for ", absl::FormatDuration(time)));
        return node.PauseAgent(cluster_.now() + time);
      case 6:
        Say(absl::StrCat("break the stream of ", node.name()));
        return node.link().Break(UpTo(absl::Seconds(6)));
      case 7:
        Say(absl::StrCat("cut off ", node.name()));
        return node.link().SetPartition(true);
      case 8:
        Say(absl::StrCat("pause the coordinator for ", absl::FormatDuration(time)));
        return cluster_.PauseCoordinator(time);
      case 9:
        Say(absl::StrCat("reboot ", node.name(), ", which takes ", absl::FormatDuration(time)));
        return node.Reboot(cluster_.now() + time);
      default:
        Say(absl::StrCat("join ", node.name()));
        return node.link().SetPartition(false);
    }
  }

  // Stops all faults. The remaining jobs are not cancelled, and no agent is restarted for them.
  absl::Status Calm() {
    Say("calm");
    habits_.network = {.longest_delay = absl::Milliseconds(10), .doubled = 0};
    for (int i = 0; i < cluster_.nodes(); ++i) {
      cluster_.node(i).link().SetPartition(false);
      cluster_.node(i).PauseAgent(absl::InfinitePast());
    }
    return cluster_.RunToTheEnd(absl::Minutes(60));
  }

  std::mt19937 random_;
  UnreliableNode::Habits habits_;
  UnreliableCluster cluster_;
  std::vector<std::string> said_;
};

TEST(UnreliableCluster, KeepsTheInvariantsAndEndsEveryJob) {
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    ASSERT_TRUE(RandomSchedule(seed).Play(40)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace accel::simulation
