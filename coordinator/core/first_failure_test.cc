#include "coordinator/core/first_failure.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/exit_text.h"
#include "coordinator/core/exit_status.h"

namespace accel::coordinator {
namespace {

v1::ExitRecord Exited(int code) {
  v1::ExitRecord exit;
  exit.set_kind(v1::ExitRecord::EXITED);
  exit.set_code(code);
  return exit;
}
v1::ExitRecord Killed(int signal, bool out_of_memory = false) {
  v1::ExitRecord exit;
  exit.set_kind(v1::ExitRecord::SIGNALLED);
  exit.set_signal(signal);
  exit.set_out_of_memory(out_of_memory);
  return exit;
}
v1::ExitRecord Of(v1::ExitRecord::Kind kind, int code = 0) {
  v1::ExitRecord exit;
  exit.set_kind(kind);
  exit.set_code(code);
  exit.set_message("so");
  return exit;
}

// Two nodes: a with ranks 0 and 1, b with ranks 2 and 3. The exits are those of the ranks.
// KIND_UNSPECIFIED stands for a rank that still runs.
class TwoNodes {
 public:
  explicit TwoNodes(const std::vector<v1::ExitRecord>& exits) {
    v1::GenerationRecord* generation = job.add_generations();
    generation->set_generation(4);
    for (int i = 0; i < 2; ++i) {
      placements[i].set_node_name(i == 0 ? "a" : "b");
      placements[i].set_first_rank(2 * i);
      placements[i].set_processes(2);
      for (int rank = 2 * i; rank < 2 * i + 2; ++rank) {
        v1::ObservedWorker* worker = observed[i].add_workers();
        worker->set_rank(rank);
        if (exits[rank].kind() != v1::ExitRecord::KIND_UNSPECIFIED) {
          *worker->mutable_exit() = exits[rank];
          worker->add_last_lines("bye from " + std::to_string(rank));
        }
      }
      Part& part = parts.emplace_back();
      part.state = Part::State::kRunning;
      part.placement = &placements[i];
      part.observed = &observed[i];
    }
  }

  v1::Job job;
  v1::Placement placements[2];
  v1::ObservedGeneration observed[2];
  std::vector<Part> parts;
};

// The shim of node a stopped its ranks because it had lost the coordinator. Their signals are no
// cause.
TEST(FirstFailure, AnAbandonedPartIsTheCauseOfItsSignals) {
  const v1::ExitRecord running;
  TwoNodes world({Killed(15), Killed(9), running, running});
  *world.observed[0].mutable_failure() = Of(v1::ExitRecord::NODE_LOST);
  auto cause = FirstFailure(world.job, world.parts);
  ASSERT_TRUE(cause.has_value());
  EXPECT_EQ(cause->rank(), -1);
  EXPECT_EQ(common::DescribeFailure(*cause), "node a was lost: so");
  // A failure of its own, before that, is the cause nevertheless.
  *world.observed[0].mutable_workers(1)->mutable_exit() = Exited(3);
  cause = FirstFailure(world.job, world.parts);
  EXPECT_EQ(cause->rank(), 1);
}

TEST(FirstFailure, PrefersTheLikeliestOrigin) {
  const v1::ExitRecord running, good = Exited(0);
  const struct {
    std::vector<v1::ExitRecord> exits;
    int rank;  // The expected rank, or -1 if no single rank failed.
  } cases[] = {
      {{running, running, running, running}, -1},
      {{good, running, good, good}, -1},
      {{good, Exited(3), running, running}, 1},
      {{Exited(2), Exited(3), Exited(1), running}, 0},
      {{Killed(15), Killed(9), running, Exited(3)}, 3},
      {{Killed(15), Killed(9), running, Killed(11)}, 3},
      {{Killed(15), Killed(9), running, running}, 0},
      {{Killed(15), running, Killed(9, true), running}, 2},
      {{Killed(15), Of(v1::ExitRecord::SHIM_DIED), running, running}, 1},
      {{Of(v1::ExitRecord::SHIM_DIED), Exited(5), running, running}, 1},
      {{running, Of(v1::ExitRecord::NOT_STARTED, 127), Exited(1), running}, 1},
  };
  for (const auto& c : cases) {
    const TwoNodes world(c.exits);
    const auto cause = FirstFailure(world.job, world.parts);
    ASSERT_EQ(cause.has_value(), c.rank >= 0);
    if (!cause.has_value()) continue;
    EXPECT_EQ(cause->rank(), c.rank);
    EXPECT_EQ(cause->generation(), 4);
    EXPECT_EQ(cause->node_name(), c.rank < 2 ? "a" : "b");
    EXPECT_EQ(cause->last_lines(0), "bye from " + std::to_string(c.rank));
  }
}

TEST(FirstFailure, AWorkerComesBeforeALostNode) {
  TwoNodes world({v1::ExitRecord(), v1::ExitRecord(), v1::ExitRecord(), Killed(9)});
  world.parts[0].state = Part::State::kLost;
  world.parts[0].loss = "it is gone";
  EXPECT_EQ(FirstFailure(world.job, world.parts)->rank(), 3);
  world.parts.pop_back();
  const auto cause = FirstFailure(world.job, world.parts);
  EXPECT_EQ(cause->rank(), -1);
  EXPECT_EQ(cause->node_name(), "a");
  EXPECT_EQ(cause->exit().kind(), v1::ExitRecord::NODE_LOST);
  EXPECT_EQ(cause->exit().message(), "it is gone");
}

TEST(FirstFailure, APartThatEndsWithoutAReasonIsAFailure) {
  TwoNodes world({Exited(0), v1::ExitRecord(), v1::ExitRecord(), v1::ExitRecord()});
  world.parts[0].state = Part::State::kEnded;
  const auto cause = FirstFailure(world.job, world.parts);
  ASSERT_TRUE(cause.has_value());
  EXPECT_EQ(cause->rank(), -1);
  EXPECT_EQ(cause->node_name(), "a");
}

TEST(FirstFailure, RanksThatAreNotThePartsAreIgnored) {
  TwoNodes world({v1::ExitRecord(), v1::ExitRecord(), v1::ExitRecord(), v1::ExitRecord()});
  world.observed[0].mutable_workers(0)->set_rank(77);
  *world.observed[0].mutable_workers(0)->mutable_exit() = Exited(1);
  EXPECT_FALSE(FirstFailure(world.job, world.parts).has_value());
}

TEST(FirstFailure, KeepsABoundedPartOfTheOutput) {
  TwoNodes world({Exited(1), v1::ExitRecord(), v1::ExitRecord(), v1::ExitRecord()});
  v1::ObservedWorker* worker = world.observed[0].mutable_workers(0);
  for (int i = 0; i < 100; ++i) worker->add_last_lines(std::to_string(i));
  std::string umlauts;
  while (umlauts.size() < 5000) umlauts += "\u00fc";
  worker->add_last_lines("x" + umlauts);
  const auto cause = FirstFailure(world.job, world.parts);
  ASSERT_EQ(cause->last_lines_size(), kMaxLastLines);
  EXPECT_EQ(cause->last_lines(0), "81");
  // The text is cut between characters.
  EXPECT_EQ(cause->last_lines(kMaxLastLines - 1).size(), size_t{kMaxLastLineBytes} - 1);
  EXPECT_EQ(LastLinesOf(*cause, world.parts).size(), size_t{kMaxLastLines});
}

TEST(ExitStatus, ExitCodeOfTheJob) {
  const struct {
    v1::ExitRecord exit;
    int code;
  } cases[] = {
      {Exited(3), 3},
      {Exited(256), 1},
      {Killed(11), 139},
      {Killed(9, true), 137},
      {Killed(64), 192},
      {Killed(5000), 1},
      {Of(v1::ExitRecord::NOT_STARTED, 126), 126},
      {Of(v1::ExitRecord::NOT_STARTED), 1},
      {Of(v1::ExitRecord::SHIM_DIED), 1},
      {Of(v1::ExitRecord::NODE_LOST), 1},
      {Of(v1::ExitRecord::TIMED_OUT), 124},
      {v1::ExitRecord(), 1},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(JobExitCode(c.exit), c.code) << c.exit.ShortDebugString();
    EXPECT_FALSE(IsSuccess(c.exit));
  }
  EXPECT_TRUE(IsSuccess(Exited(0)));
}

}  // namespace
}  // namespace accel::coordinator
