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

const absl::Time kStart = absl::UnixEpoch() + absl::Hours(100);
const absl::Time kNow = kStart + absl::Seconds(10);

// Two nodes: a with ranks 0 and 1, b with ranks 2 and 3. The exits are those of the ranks.
// KIND_UNSPECIFIED stands for a rank that still runs.
class TwoNodes {
 public:
  explicit TwoNodes(const std::vector<v1::ExitRecord>& exits) {
    v1::GenerationRecord* generation = entry.job.add_generations();
    entry.started = kStart;
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
      part.node = &nodes[i];
      nodes[i].last_heard = kNow;
    }
  }

  std::optional<v1::FailureCause> First() const {
    const auto found = FirstFailure(entry, parts, kNow);
    if (!found.has_value()) return std::nullopt;
    return found->cause;
  }

  JobEntry entry;
  NodeEntry nodes[2];
  v1::Placement placements[2];
  v1::ObservedGeneration observed[2];
  std::vector<Part> parts;
};

// The shim of node a stopped its ranks because it had lost the coordinator. So the signals that
// ended them are not the cause.
TEST(FirstFailure, AnAbandonedPartIsTheCauseOfItsSignals) {
  const v1::ExitRecord running;
  TwoNodes world({Killed(15), Killed(9), running, running});
  *world.observed[0].mutable_failure() = Of(v1::ExitRecord::NODE_LOST);
  auto cause = world.First();
  ASSERT_TRUE(cause.has_value());
  EXPECT_EQ(cause->rank(), -1);
  EXPECT_EQ(common::DescribeFailure(*cause), "node a was lost: so");
  // A failure of its own, before that, is the cause nevertheless.
  *world.observed[0].mutable_workers(1)->mutable_exit() = Exited(3);
  cause = world.First();
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
    const auto cause = world.First();
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
  EXPECT_EQ(world.First()->rank(), 3);
  world.parts.pop_back();
  const auto cause = world.First();
  EXPECT_EQ(cause->rank(), -1);
  EXPECT_EQ(cause->node_name(), "a");
  EXPECT_EQ(cause->exit().kind(), v1::ExitRecord::NODE_LOST);
  EXPECT_EQ(cause->exit().message(), "it is gone");
}

TEST(FirstFailure, APartThatEndsWithoutAReasonIsAFailure) {
  TwoNodes world({Exited(0), v1::ExitRecord(), v1::ExitRecord(), v1::ExitRecord()});
  world.parts[0].state = Part::State::kEnded;
  const auto cause = world.First();
  ASSERT_TRUE(cause.has_value());
  EXPECT_EQ(cause->rank(), -1);
  EXPECT_EQ(cause->node_name(), "a");
}

TEST(FirstFailure, RanksThatAreNotThePartsAreIgnored) {
  TwoNodes world({v1::ExitRecord(), v1::ExitRecord(), v1::ExitRecord(), v1::ExitRecord()});
  world.observed[0].mutable_workers(0)->set_rank(77);
  *world.observed[0].mutable_workers(0)->mutable_exit() = Exited(1);
  EXPECT_FALSE(world.First().has_value());
}

TEST(ExitedWorkers, AreSortedAndListedOnce) {
  TwoNodes world({Exited(2), Exited(3), {}, {}});
  v1::ObservedGeneration& observed = world.observed[0];
  observed.mutable_workers()->SwapElements(0, 1);
  v1::ObservedWorker again = observed.workers(0);  // Rank 1.
  *again.mutable_exit() = Exited(7);
  *observed.add_workers() = again;
  const auto exited = ExitedWorkers(world.parts[0]);
  ASSERT_EQ(exited.size(), 2u);
  EXPECT_EQ(exited[0]->rank(), 0);
  EXPECT_EQ(exited[1]->rank(), 1);
  EXPECT_EQ(exited[1]->exit().code(), 3) << "the first one counts";
}

TEST(FirstFailure, KeepsABoundedPartOfTheOutput) {
  TwoNodes world({Exited(1), v1::ExitRecord(), v1::ExitRecord(), v1::ExitRecord()});
  v1::ObservedWorker* worker = world.observed[0].mutable_workers(0);
  for (int i = 0; i < 100; ++i) worker->add_last_lines(std::to_string(i));
  std::string umlauts;
  while (umlauts.size() < 5000) umlauts += "\u00fc";
  worker->add_last_lines("x" + umlauts);
  const auto cause = world.First();
  ASSERT_EQ(cause->last_lines_size(), kMaxLastLines);
  EXPECT_EQ(cause->last_lines(0), "81");
  // The text is cut between characters.
  EXPECT_EQ(cause->last_lines(kMaxLastLines - 1).size(), size_t{kMaxLastLineBytes} - 1);
  EXPECT_EQ(LastLinesOf(*cause, world.parts).size(), size_t{kMaxLastLines});
}

// The same two nodes. The clock of node b shows an hour less, and its reports arrive later.
class TwoClocks : public TwoNodes {
 public:
  explicit TwoClocks(const std::vector<v1::ExitRecord>& exits) : TwoNodes(exits) {
    for (int i = 0; i < 2; ++i) {
      nodes[i].clock.Sent(1, kStart);
      v1::NodeObserved report;
      report.set_applied_version(1);
      report.set_answered_us(absl::ToUnixMicros(kStart - behind[i] + kWay));
      report.set_made_us(report.answered_us());
      nodes[i].clock.Heard(report, kStart + 2 * kWay);
    }
  }
  // The rank ended this long after the start.
  void Ended(int rank, absl::Duration after) {
    const int node = rank / 2;
    observed[node].mutable_workers(rank % 2)->set_ended_us(
        absl::ToUnixMicros(kStart + after - behind[node]));
  }
  void StopFor(const FoundFailure& failure) {
    entry.job.set_phase(v1::STOPPING);
    *entry.job.mutable_cause() = failure.cause;
    entry.failed = failure.when;
  }
  std::optional<FoundFailure> Earlier() const { return EarlierFailure(entry, parts, kNow); }

  static constexpr absl::Duration kWay = absl::Milliseconds(1);
  const absl::Duration behind[2] = {absl::ZeroDuration(), absl::Minutes(30)};
};

TEST(FirstFailure, TimeDecidesBetweenFailuresThatAreFarApart) {
  const v1::ExitRecord running;
  TwoClocks world({Exited(1), Exited(2), running, Exited(3)});
  world.Ended(0, absl::Seconds(5));
  world.Ended(1, absl::Seconds(4));
  world.Ended(3, absl::Seconds(3));
  EXPECT_EQ(world.First()->rank(), 3);
  // A signal that came first is the origin, because nothing had been stopped then.
  *world.observed[1].mutable_workers(1)->mutable_exit() = Killed(9);
  EXPECT_EQ(world.First()->rank(), 3);
  // Within a millisecond it cannot be told which was first, so the kind decides.
  world.Ended(3, absl::Seconds(4) - absl::Microseconds(500));
  EXPECT_EQ(world.First()->rank(), 1);
  const auto found = FirstFailure(world.entry, world.parts, kNow);
  EXPECT_LE(found->when.earliest, kStart + absl::Seconds(4));
  EXPECT_GE(found->when.latest, kStart + absl::Seconds(4));
  EXPECT_LE(found->when.latest - found->when.earliest, absl::Milliseconds(5));
}

TEST(FirstFailure, AnEarlierFailureThatIsReportedLaterReplacesTheCause) {
  const v1::ExitRecord running;
  TwoClocks world({Exited(1), running, running, running});
  world.Ended(0, absl::Seconds(5));
  world.StopFor(*FirstFailure(world.entry, world.parts, kNow));
  EXPECT_FALSE(world.Earlier().has_value());
  // Ranks that the stop has ended, and one that failed within the uncertainty, are no cause.
  for (const int rank : {1, 2, 3}) {
    const int signal = rank == 1 ? 15 : 9;
    *world.observed[rank / 2].mutable_workers(rank % 2)->mutable_exit() = Killed(signal);
    world.Ended(rank, absl::Seconds(6));
  }
  EXPECT_FALSE(world.Earlier().has_value());
  *world.observed[1].mutable_workers(1)->mutable_exit() = Exited(7);
  world.Ended(3, absl::Seconds(5) - absl::Microseconds(500));
  EXPECT_FALSE(world.Earlier().has_value());
  world.Ended(3, absl::Seconds(5) - absl::Milliseconds(100));
  ASSERT_TRUE(world.Earlier().has_value());
  EXPECT_EQ(world.Earlier()->cause.rank(), 3);
  EXPECT_EQ(world.Earlier()->cause.exit().code(), 7);
  world.StopFor(*world.Earlier());
  EXPECT_FALSE(world.Earlier().has_value());
}

TEST(FirstFailure, WithoutATimeNothingIsEarlier) {
  const v1::ExitRecord running;
  TwoClocks world({Exited(1), running, running, Exited(7)});
  world.Ended(0, absl::Seconds(5));
  world.StopFor(*FirstFailure(world.entry, {world.parts[0]}, kNow));
  EXPECT_FALSE(world.Earlier().has_value());
}

TEST(FirstFailure, ANodeCannotClaimAnImpossibleTime) {
  const v1::ExitRecord running;
  TwoClocks world({Exited(1), running, running, Exited(7)});
  world.Ended(3, -absl::Hours(9));
  EXPECT_EQ(FirstFailure(world.entry, world.parts, kNow)->when.latest, kStart);
  world.Ended(3, absl::Hours(9));
  const auto found = FirstFailure(world.entry, {world.parts[1]}, kNow);
  EXPECT_EQ(found->when.earliest, kNow);
  EXPECT_EQ(found->when.latest, kNow);
}

// The ranks of node a failed because node b was gone: it has reported nothing since.
TEST(FirstFailure, ALostNodeIsTheCauseOfThePeersThatFailedMeanwhile) {
  const v1::ExitRecord running;
  TwoClocks world({Exited(1), Exited(1), running, running});
  world.Ended(0, absl::Seconds(5));
  world.Ended(1, absl::Seconds(5));
  world.StopFor(*FirstFailure(world.entry, world.parts, kNow));
  world.parts[1].state = Part::State::kLost;
  world.parts[1].loss = "it has been silent for 3s";
  world.nodes[1].last_heard = kStart + absl::Seconds(6);
  EXPECT_FALSE(world.Earlier().has_value()) << "node b reported after the failure";
  world.nodes[1].last_heard = kStart + absl::Seconds(4);
  ASSERT_TRUE(world.Earlier().has_value());
  EXPECT_EQ(common::DescribeFailure(world.Earlier()->cause),
            "node b was lost: it has been silent for 3s");
  // A rank may also hang because of it.
  v1::ExitRecord* cause = world.entry.job.mutable_cause()->mutable_exit();
  cause->set_kind(v1::ExitRecord::HUNG);
  EXPECT_TRUE(world.Earlier().has_value());
  // A rank that ran out of memory did not fail because of its peers.
  *cause = Killed(9, true);
  EXPECT_FALSE(world.Earlier().has_value());
}

TEST(FirstFailure, LaterFailuresAreCounted) {
  TwoClocks world({Exited(1), Exited(1), Killed(6), Killed(15)});
  world.Ended(0, absl::Seconds(5));
  world.Ended(1, absl::Seconds(5) + absl::Milliseconds(400));
  world.Ended(2, absl::Seconds(5) + absl::Milliseconds(10));
  world.Ended(3, absl::Seconds(9));
  world.StopFor(*FirstFailure(world.entry, world.parts, kNow));
  const v1::LaterFailures later = CountLater(world.entry, world.parts);
  EXPECT_EQ(later.ranks(), 2);
  ASSERT_EQ(later.kinds_size(), 2);
  EXPECT_EQ(later.kinds(0).ranks(), 1);
  EXPECT_GE(later.within_ms(), 400);
  EXPECT_LE(later.within_ms(), 402);
  world.Ended(1, -absl::Hours(2));
  world.observed[0].mutable_workers(1)->set_ended_us(0);
  EXPECT_EQ(CountLater(world.entry, world.parts).within_ms(), 0);
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
      {Of(v1::ExitRecord::HUNG), 1},
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
