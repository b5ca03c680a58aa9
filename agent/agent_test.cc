#include "agent/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "agent/agent_fixture.h"
#include "common/status_matchers.h"
#include "common/wake_fd.h"

namespace accel::agent {
namespace {

using State = v1::ObservedGeneration;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Records what the agent was asked to relay.
class FakeRelays final : public LogRelays {
 public:
  void Set(const std::vector<RelaySource>& to) override { sources = to; }
  std::vector<RelaySource> sources;
};

class AgentTest : public AgentFixture {
 protected:
  ~AgentTest() override {
    if (!disk_answers_.HasBeenNotified()) disk_answers_.Notify();
  }

  const v1::NodeObserved& Turn() { return AgentFixture::Turn(&agent_); }

  std::function<void(const std::filesystem::path&, std::error_code*)> HangingDisk() {
    return [this](const std::filesystem::path& path, std::error_code* error) {
      disk_answers_.WaitForNotification();
      std::filesystem::remove(path, *error);
    };
  }

  const std::string jobs_dir_ = absl::StrCat(
      getenv("TEST_TMPDIR"), "/", ::testing::UnitTest::GetInstance()->current_test_info()->name());
  FakeRelays relays_;
  // A disk that hangs when something is deleted, until this is notified.
  absl::Notification disk_answers_;
  Agent agent_{{.identity = Identity(),
                .base_env = {"HOME=/root"},
                .jobs_dir = jobs_dir_,
                .output = {.jobs_kept = 2, .generations_kept = 2, .remove = HangingDisk()}},
               With(&relays_, &link_)};
};

TEST_F(AgentTest, ReportsItselfFirst) {
  EXPECT_EQ(Turn().store_sockets_size(), 2);
  EXPECT_GT(link_.reports.back().store_sockets(0).port(), 0);
}

TEST_F(AgentTest, ReportsChangesAtOnceAndOtherwiseEachHeartbeat) {
  Turn();
  Turn();
  EXPECT_EQ(link_.reports.size(), 1u);
  clock_.Advance(absl::Seconds(1));
  Turn();
  EXPECT_EQ(link_.reports.size(), 2u);
  link_.Desire(Start("a"));
  Turn();
  EXPECT_EQ(link_.reports.size(), 3u);
  EXPECT_GT(link_.reports[2].sequence(), link_.reports[1].sequence());
}

TEST_F(AgentTest, RunsAJobFromStartToForget) {
  link_.Desire(Start("a"));
  EXPECT_EQ(Turn().generations(0).state(), State::STARTING);
  ASSERT_EQ(shims_.starts().size(), 1u);
  EXPECT_EQ(shims_.starts()[0].log_dir, jobs_dir_ + "/a/gen_1");
  EXPECT_THAT(shims_.starts()[0].workers[0].env, Contains("HOME=/root"));
  shims_.ExecDone(common::JobId("a"));
  EXPECT_EQ(Turn().generations(0).state(), State::RUNNING);
  shims_.Exit(common::JobId("a"), 0, shim::ExitFact{.code = 3}, {"why"});
  const v1::ObservedGeneration ended = Turn().generations(0);
  EXPECT_EQ(ended.state(), State::ENDED);
  EXPECT_EQ(ended.workers(0).exit().code(), 3);
  EXPECT_EQ(ended.workers(0).last_lines(0), "why");
  link_.Desire(Forget("a"));
  EXPECT_EQ(Turn().generations_size(), 0);
  Turn();
  EXPECT_FALSE(shims_.has_shim(common::JobId("a")));
}

TEST_F(AgentTest, AStoreSocketIsGivenAwayOnceAndReplaced) {
  const uint64_t id = Turn().store_sockets(0).id();
  v1::NodeDesired desired = Start("a");
  desired.mutable_generations(0)->set_store_socket(id);
  link_.Desire(desired);
  const v1::NodeObserved observed = Turn();
  ASSERT_EQ(observed.store_sockets_size(), 2);
  for (const v1::StoreSocket& socket : observed.store_sockets()) EXPECT_NE(socket.id(), id);
  EXPECT_TRUE(shims_.starts()[0].serves_store);
}

// Ranks on other nodes may have connected to a socket although this node never got its start.
TEST_F(AgentTest, AStoreSocketThatTheCoordinatorNamesIsClosedAndReplaced) {
  const v1::StoreSocket socket = Turn().store_sockets(0);
  v1::NodeDesired desired;
  desired.set_version(1);
  desired.set_incarnation(link_.reports.back().incarnation());
  desired.add_close_sockets(socket.id());
  link_.Desire(desired);
  const v1::NodeObserved observed = Turn();
  ASSERT_EQ(observed.store_sockets_size(), 2);
  for (const v1::StoreSocket& each : observed.store_sockets()) EXPECT_NE(each.id(), socket.id());
}

TEST_F(AgentTest, WithoutAShimTheGenerationHasFailed) {
  shims_.FailNextShim(absl::InternalError("no such file"));
  link_.Desire(Start("a"));
  const v1::NodeObserved observed = Turn();
  EXPECT_EQ(observed.generations(0).state(), State::ENDED);
  EXPECT_EQ(observed.generations(0).failure().kind(), v1::ExitRecord::NOT_STARTED);
  EXPECT_THAT(observed.generations(0).failure().message(), HasSubstr("no such file"));
}

TEST_F(AgentTest, AStartThatIsTooLargeNeedsNoShim) {
  v1::NodeDesired desired = Start("a");
  v1::EnvVar* large = desired.mutable_generations(0)->add_env();
  large->set_name("A");
  large->set_value(std::string(17 << 20, 'x'));
  link_.Desire(desired);
  const v1::NodeObserved observed = Turn();
  EXPECT_EQ(observed.generations(0).state(), State::ENDED);
  EXPECT_THAT(observed.generations(0).failure().message(), HasSubstr("--env"));
  EXPECT_FALSE(shims_.has_shim(common::JobId("a")));
}

TEST_F(AgentTest, AJobThatReturnsWaitsForItsOldShimToExit) {
  shims_.HoldLeaving(true);
  link_.Desire(Start("a"));
  Turn();
  shims_.ExitAll(common::JobId("a"), shim::ExitFact{.code = 3});
  Turn();
  link_.Desire(Forget("a"));
  Turn();
  v1::NodeDesired next = Start("a");
  next.mutable_generations(0)->mutable_key()->set_generation(2);
  link_.Desire(next);
  EXPECT_EQ(Turn().generations(0).state(), State::STARTING);
  EXPECT_EQ(shims_.starts().size(), 1u);
  shims_.HoldLeaving(false);
  Turn();
  ASSERT_EQ(shims_.starts().size(), 2u);
  shims_.ExecDone(common::JobId("a"));
  EXPECT_EQ(Turn().generations(0).state(), State::RUNNING);
}

// The failure of one generation does not explain a later one.
TEST_F(AgentTest, EachFailedStartHasItsOwnReason) {
  shims_.FailNextShim(absl::InternalError("no such file"));
  link_.Desire(Start("a"));
  Turn();
  v1::NodeDesired next = Start("a");
  next.mutable_generations(0)->mutable_key()->set_generation(2);
  next.mutable_generations(0)->add_env()->set_name("A");
  next.mutable_generations(0)->mutable_env(0)->set_value(std::string(17 << 20, 'x'));
  link_.Desire(next);
  const v1::NodeObserved observed = Turn();
  EXPECT_THAT(observed.generations(0).failure().message(), HasSubstr("no such file"));
  EXPECT_THAT(observed.generations(1).failure().message(), HasSubstr("16777216"));
}

TEST_F(AgentTest, AReportIsNoLargerThanTheLinkSays) {
  link_.Desire(Start("a"));
  Turn();
  shims_.Exit(common::JobId("a"), 0, shim::ExitFact{.code = 3},
              std::vector<std::string>(20, std::string(200, 'x')));
  EXPECT_EQ(Turn().generations(0).workers(0).last_lines_size(), 20);
  link_.SetMaxReportBytes(100);
  link_.SetSession(2);
  EXPECT_EQ(Turn().generations(0).workers(0).last_lines_size(), 0);
  EXPECT_EQ(Turn().generations(0).workers(0).exit().code(), 3);
  link_.SetMaxReportBytes(kMaxReportBytes);
  link_.SetSession(3);
  EXPECT_EQ(Turn().generations(0).workers(0).last_lines_size(), 20);
}

TEST_F(AgentTest, ANewSessionGetsAReport) {
  Turn();
  link_.SetSession(2);
  Turn();
  EXPECT_EQ(link_.reports.size(), 2u);
}

TEST_F(AgentTest, SaysNothingWithoutASession) {
  link_.SetSession(0);
  EXPECT_OK(agent_.RunOnce());
  EXPECT_TRUE(link_.reports.empty());
}

TEST_F(AgentTest, RelaysWhatIsReadAndKnowsWhenItIsComplete) {
  v1::NodeDesired desired = Start("a");
  desired.mutable_generations(0)->set_log_dir("/mine");
  v1::LogReader* reader = desired.add_log_readers();
  reader->set_job_id("a");
  reader->set_generation(1);
  reader->set_log_dir("/mine");
  link_.Desire(desired);
  Turn();
  ASSERT_EQ(relays_.sources.size(), 1u);
  EXPECT_EQ(shims_.starts()[0].log_dir, "/mine/a/gen_1");
  EXPECT_EQ(relays_.sources[0].log_dir, "/mine/a/gen_1");
  EXPECT_FALSE(relays_.sources[0].complete);
  shims_.ExitAll(common::JobId("a"), shim::ExitFact{});
  Turn();
  EXPECT_TRUE(relays_.sources[0].complete);
  v1::NodeDesired forget = Forget("a");
  *forget.add_log_readers() = *reader;
  link_.Desire(forget);
  Turn();
  ASSERT_EQ(relays_.sources.size(), 1u);
  EXPECT_EQ(relays_.sources[0].log_dir, "/mine/a/gen_1") << "it has not moved";
}

// A generation waits here for the end of the one before it. Its reader must wait, too.
TEST_F(AgentTest, OutputOfAGenerationThatIsStillToStartIsNotComplete) {
  link_.Desire(Start("a"));
  Turn();
  v1::NodeDesired next = Start("a");
  next.mutable_generations(0)->mutable_key()->set_generation(2);
  v1::LogReader* reader = next.add_log_readers();
  reader->set_job_id("a");
  reader->set_generation(2);
  link_.Desire(next);
  Turn();
  ASSERT_EQ(relays_.sources.size(), 1u);
  EXPECT_EQ(shims_.starts().size(), 1u);
  EXPECT_FALSE(relays_.sources[0].complete);
  shims_.ExitAll(common::JobId("a"), shim::ExitFact{});
  Turn();
  EXPECT_EQ(shims_.starts().size(), 2u);
  EXPECT_FALSE(relays_.sources[0].complete);
  shims_.ExitAll(common::JobId("a"), shim::ExitFact{});
  Turn();
  EXPECT_TRUE(relays_.sources[0].complete);
}

// Returns the names of a folder's entries.
std::vector<std::string> Children(const std::string& dir) {
  std::vector<std::string> names;
  std::error_code error;  // The folder may be disappearing.
  for (std::filesystem::directory_iterator entry(dir, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

void AwaitCount(size_t count, const std::string& dir) {
  const absl::Time give_up = absl::Now() + absl::Minutes(1);
  while (Children(dir).size() != count && absl::Now() < give_up) {
    absl::SleepFor(absl::Milliseconds(1));
  }
}

TEST_F(AgentTest, HeartbeatsContinueWhileADiskHangs) {
  for (const char* job : {"a", "b", "c", "d"}) {
    std::filesystem::create_directories(jobs_dir_ + "/" + job);
  }
  link_.Desire(Start("d"));
  Turn();
  shims_.ExitAll(common::JobId("d"), shim::ExitFact{});
  link_.Desire(Forget("d"));
  Turn();
  link_.Desire(Start("e"));
  EXPECT_EQ(Turn().generations(0).job_id(), "e");
  const size_t reports = link_.reports.size();
  clock_.Advance(absl::Seconds(1));
  Turn();
  EXPECT_EQ(link_.reports.size(), reports + 1);
  EXPECT_THAT(Children(jobs_dir_), ElementsAre("a", "b", "c", "d"));
  disk_answers_.Notify();
  AwaitCount(2, jobs_dir_);
  EXPECT_THAT(Children(jobs_dir_), ElementsAre("c", "d"));
}

TEST_F(AgentTest, AJobThatEndsPushesOutTheOldestOutput) {
  disk_answers_.Notify();
  link_.Desire(Start("c"));
  Turn();
  // Made only now: the thread that prunes may still look at the folder for the first time.
  for (const char* job : {"a", "b", "c"})
    std::filesystem::create_directories(jobs_dir_ + "/" + job);
  shims_.ExitAll(common::JobId("c"), shim::ExitFact{});
  Turn();
  EXPECT_THAT(Children(jobs_dir_), ElementsAre("a", "b", "c"));
  link_.Desire(Forget("c"));
  Turn();
  AwaitCount(2, jobs_dir_);
  EXPECT_THAT(Children(jobs_dir_), ElementsAre("b", "c"));
}

TEST_F(AgentTest, ANewGenerationPushesOutTheOldestOutput) {
  for (const char* old : {"gen_1", "gen_2", "gen_3"}) {
    std::filesystem::create_directories(jobs_dir_ + "/a/" + old);
  }
  v1::NodeDesired desired = Start("a");
  desired.mutable_generations(0)->mutable_key()->set_generation(4);
  link_.Desire(desired);
  Turn();
  disk_answers_.Notify();
  AwaitCount(1, jobs_dir_ + "/a");
  EXPECT_THAT(Children(jobs_dir_ + "/a"), ElementsAre("gen_3"));  // The shim makes gen_4.
}

TEST_F(AgentTest, StopsOnAFatalErrorOfTheLink) {
  link_.Fail(absl::AlreadyExistsError("another agent"));
  common::WakeFd never;
  EXPECT_THAT(agent_.Run(never.get()),
              accel::testing::StatusIs(absl::StatusCode::kAlreadyExists, ::testing::_));
}

TEST_F(AgentTest, StopsWhenAsked) {
  common::WakeFd stop;
  stop.Wake();
  EXPECT_OK(agent_.Run(stop.get()));
}

}  // namespace
}  // namespace accel::agent
