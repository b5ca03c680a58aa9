// Random schedules over the pure core. Nodes and clients act in any order. The invariants of
// Scenario::CheckInvariants() must hold after every step. Once the faults stop, every job must end
// without help. A failure names the seed and prints the steps as a scenario.
//
// The processes that nodes really run, and messages that are lost, late or doubled, are
// tested in tests/simulation/unreliable_cluster_test.cc.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/scenarios/scenario.h"

namespace accel::scenarios {
namespace {

class RandomSchedule {
 public:
  explicit RandomSchedule(uint32_t seed) : random_(seed) {}

  // Plays `steps` random steps, then lets all jobs end. Fails if an invariant does not hold.
  ::testing::AssertionResult Play(int steps) {
    for (const char* node :
         {"node a gpus=2", "node b gpus=3", "node c", "node d address=10.0.0.4"}) {
      if (!Step(node)) return Failure();
    }
    for (int i = 0; i < steps; ++i) {
      if (!Step(RandomStep())) return Failure();
    }
    return Calm() ? ::testing::AssertionSuccess() : Failure();
  }

 private:
  int Below(int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(random_); }
  std::string Pick(const std::vector<std::string>& choices) {
    return choices[static_cast<size_t>(Below(static_cast<int>(choices.size())))];
  }
  std::string Node() { return Pick({"a", "b", "c", "d"}); }
  std::string Job() { return absl::StrCat("j", 1 + Below(std::max(jobs_, 1))); }
  std::string Part() { return absl::StrCat(Node(), " ", Job(), ".", 1 + Below(3)); }

  std::string RandomStep() {
    switch (Below(16)) {
      case 0:
        ++jobs_;
        // All of these jobs fit, because two of the nodes have GPUs.
        return absl::StrCat("submit ",
                            Pick({"nodes=1 cpu", "nodes=3 cpu", "nodes=1", "nodes=2",
                                  "nodes=4 min_nodes=1 cpu", "nodes=2 min_nodes=1"}),
                            Pick({" ppn=1", " ppn=2", ""}), " max_restarts=", Below(3),
                            Pick({" time_limit=30s", "", ""}));
      case 1:
        return absl::StrCat("cancel ", Job(), Pick({"", " at_once"}));
      case 2:
        return absl::StrCat(Pick({"mute ", "unmute ", "disconnect ", "reconnect ", "restart "}),
                            Node());
      case 3:
        return absl::StrCat("vanish ", Node(), Pick({"", " no"}));
      case 4:
        return absl::StrCat(Pick({"advance ", "advance ", "away "}),
                            Pick({"1s", "2s", "3s", "4s", "31s"}));
      case 5:
      case 6:
      case 7:
        return absl::StrCat("sync ", Pick({"all", Node()}));
      case 8:
      case 9:
        return absl::StrCat("run ", Part());
      case 10:
      case 11:
        return absl::StrCat("exit ", Part(), " ", Below(4), " ",
                            Pick({"0", "0", "0", "1", "SIG9"}));
      case 12:
        return absl::StrCat(Pick({"fail ", "cannot_start "}), Part(), " no such file");
      case 13:
        return absl::StrCat(Pick({"drain ", "undrain "}), Node());
      case 14:
        return absl::StrCat("checkpoint ", Part());
      default:
        return absl::StrCat("end ", Part());
    }
  }

  // Plays one step. Leaves steps that are invalid in this state, such as an exit of a rank
  // that does not exist, out of the printed scenario. Returns false if an expectation or
  // an invariant failed.
  bool Step(const std::string& step) {
    status_ = scenario_.Play(step);
    if (status_.code() != absl::StatusCode::kInvalidArgument) steps_.push_back(step);
    return status_.ok() || status_.code() != absl::StatusCode::kFailedPrecondition;
  }

  // Stops all faults and lets every node work. No job is cancelled and no agent is restarted, so
  // each job must reach its end by what the coordinator does.
  bool Calm() {
    for (const char* node : {"a", "b", "c", "d"}) {
      for (const std::string& step :
           {absl::StrCat("vanish ", node, " no"), absl::StrCat("undrain ", node),
            absl::StrCat("reconnect ", node)}) {
        if (!Step(step)) return false;
      }
    }
    for (int round = 0; round < 12 * (jobs_ + 1); ++round) {
      if (!Step("work all") || !Step("advance 2s")) return false;
    }
    return Step("all_over");
  }

  ::testing::AssertionResult Failure() {
    return ::testing::AssertionFailure() << status_ << "\n" << absl::StrJoin(steps_, "\n");
  }

  std::mt19937 random_;
  Scenario scenario_;
  absl::Status status_;
  std::vector<std::string> steps_;
  int jobs_ = 0;
};

TEST(RandomSchedules, KeepTheInvariants) {
  for (uint32_t seed = 1; seed <= 1'000; ++seed) {
    ASSERT_TRUE(RandomSchedule(seed).Play(120)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace accel::scenarios
