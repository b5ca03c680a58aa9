#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "cli/command_test_fixture.h"
#include "cli/commands.h"
#include "cli/follow_job.h"
#include "common/parse_text.h"
#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using ::accel::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

const grpc::Status kUnavailable(grpc::StatusCode::UNAVAILABLE, "the disk is full");

// Much longer than any successful call takes.
constexpr absl::Duration kTimeout = absl::Seconds(20);

class SubmitTest : public CommandTest {
 protected:
  // Returns a watch that sends these versions of the job and then ends with `end`.
  static FakeCoordinator::Watch Tell(std::vector<std::string> jobs,
                                     grpc::Status end = grpc::Status::OK) {
    return [=](const v1::WatchJobRequest&, grpc::ServerWriter<v1::Job>* writer, FakeCoordinator*) {
      for (const std::string& job : jobs) writer->Write(common::ParseText<v1::Job>(job));
      return end;
    };
  }
};

TEST_F(SubmitTest, ADryRunPrintsThePlanAndSubmitsNothing) {
  const Result result = Invoke(RunSubmit, {"--dry_run", "--nodes", "1:2", "--processes_per_node",
                                           "2", "--cpu", "--env", "A=b", "/bin/echo", "it's"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("node 0: 2 processes, ranks 0 to 1, on CPUs\n"
                                     "node 1: 2 processes, ranks 2 to 3, on CPUs\n\n"
                                     "Command of each process:\n  /bin/echo 'it'\\''s'\n"));
  EXPECT_THAT(result.out, AllOf(HasSubstr("\n  A=b\n"), HasSubstr("\n  WORLD_SIZE=4\n")));
  EXPECT_EQ(result.err, "accel: the job runs on 1 to 2 nodes; this is the plan for 2\n");
  EXPECT_THAT(
      Invoke(RunSubmit, {"--dry_run", "--json", "--nodes", "2", "/bin/echo"}).out,
      HasSubstr(
          "\"nodes\": 2, \"processes_per_node\": [], \"gpus\": [], \"command\": [\"/bin/echo\"]"));
  EXPECT_THAT(coordinator_.submits(), IsEmpty());
}

TEST_F(SubmitTest, AConfigurationFileGivesVariables) {
  const std::string path = ::testing::TempDir() + "/fsdp.yaml";
  std::ofstream(path) << "distributed_type: FSDP\nnum_machines: 2\nnum_processes: 4\n"
                         "fsdp_config:\n  fsdp_offload_params: true\n";
  Result result = Invoke(RunSubmit, {"--config_file", path, "--env", "A=b", "/bin/train"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  ASSERT_THAT(coordinator_.submits(), SizeIs(1));
  const v1::JobSpec spec = coordinator_.submits()[0].spec();
  EXPECT_EQ(spec.nodes(), 2);
  EXPECT_THAT(spec.processes_per_node(), ::testing::ElementsAre(2));
  EXPECT_THAT(spec.DebugString(), HasSubstr("name: \"FSDP_OFFLOAD_PARAMS\"\n  value: \"true\""));
  const std::string job = ::testing::TempDir() + "/job.json";
  std::ofstream(job) << "{\"program\": \"/bin/train\", \"nodes\": 3, \"config_file\": \"" << path
                     << "\"}";
  result = Invoke(RunSubmit, {job});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(coordinator_.submits().back().spec().nodes(), 3);
}

TEST_F(SubmitTest, AJobIsSubmittedAgainWithAnotherNumberOfNodes) {
  coordinator_.SetJobs(common::ParseText<v1::ListJobsResponse>(R"(
      jobs { job_id: "b1" phase: FAILED
             spec { name: "mnist" argv: "/bin/train" argv: "--lr" nodes: 4 max_restarts: 2
                    env { name: "A" value: "1" } } }
      jobs { job_id: "c1" phase: SUCCEEDED })"));
  Result result = Invoke(RunResubmit, {"b1"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "a0x2k9fq\n");
  EXPECT_EQ(Invoke(RunResubmit, {"--nodes", "1:3", "--max_restarts", "0", "b"}).exit_code, 0);
  ASSERT_THAT(coordinator_.submits(), SizeIs(2));
  const v1::JobSpec same = coordinator_.submits()[0].spec();
  EXPECT_EQ(same.DebugString(),
            common::ParseText<v1::JobSpec>("name: 'mnist' argv: '/bin/train' argv: '--lr' nodes: 4 "
                                           "max_restarts: 2 env { name: 'A' value: '1' }")
                .DebugString());
  EXPECT_NE(coordinator_.submits()[0].submit_id(), coordinator_.submits()[1].submit_id());
  const v1::JobSpec elastic = coordinator_.submits()[1].spec();
  EXPECT_EQ(elastic.nodes(), 3);
  EXPECT_EQ(elastic.min_nodes(), 1);
  EXPECT_EQ(elastic.max_restarts(), 0);
  // Only the end of a job that ended long ago is known.
  result = Invoke(RunResubmit, {"c1"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("remembers only the end of job c1"));
}

TEST_F(SubmitTest, PrintsTheIdAndReturns) {
  const Result result = Invoke(RunSubmit, {"--nodes", "2", "--name", "x", "/bin/true", "--wait"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "a0x2k9fq\n");
  EXPECT_EQ(result.err, "");
  ASSERT_THAT(coordinator_.submits(), SizeIs(1));
  const v1::JobSpec spec = coordinator_.submits()[0].spec();
  EXPECT_EQ(spec.nodes(), 2);
  EXPECT_EQ(spec.name(), "x");
  ASSERT_EQ(spec.argv_size(), 2);
  EXPECT_EQ(spec.argv(1), "--wait");
  EXPECT_THAT(coordinator_.watched(), IsEmpty());
}

TEST_F(SubmitTest, ARetryIsTheSameJob) {
  coordinator_.FailSubmits(3, kUnavailable);
  const Result result = Invoke(RunSubmit, {"/bin/true"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "a0x2k9fq\n");
  EXPECT_THAT(result.err, AllOf(StartsWith("accel: the disk is full\naccel: trying again"),
                                Not(HasSubstr("full\naccel: the disk"))));
  const auto submits = coordinator_.submits();
  ASSERT_THAT(submits, SizeIs(4));
  EXPECT_THAT(submits[0].submit_id(), SizeIs(32));
  for (const auto& submit : submits) EXPECT_EQ(submit.submit_id(), submits[0].submit_id());
}

TEST_F(SubmitTest, TwoSubmitsAreTwoJobs) {
  Invoke(RunSubmit, {"/bin/true"});
  Invoke(RunSubmit, {"/bin/true"});
  ASSERT_THAT(coordinator_.submits(), SizeIs(2));
  EXPECT_NE(coordinator_.submits()[0].submit_id(), coordinator_.submits()[1].submit_id());
}

TEST_F(SubmitTest, GivesUpWhenItsRetryTimeEnds) {
  coordinator_.FailSubmits(1'000'000, kUnavailable);
  const auto client = CoordinatorClient::Connect(coordinator_.address());
  ASSERT_OK(client);
  std::ostringstream out, err;
  EXPECT_THAT(SubmitWithRetries(**client, {}, absl::Milliseconds(50), Console{out, err}),
              StatusIs(absl::StatusCode::kUnavailable, "the disk is full"));
}

// Collects the messages of a command, and notifies when there is one.
class WatchedOutput : public std::stringbuf {
 public:
  void Await(const std::string& text) {
    const auto is_written = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return absl::StrContains(written_, text);
    };
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&is_written));
  }
  int sync() override {
    absl::MutexLock lock(&mutex_);
    written_ = str();
    return 0;
  }

 private:
  absl::Mutex mutex_;
  std::string written_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(SubmitTest, ACoordinatorThatComesBackIsFound) {
  coordinator_.Stop();
  const auto client = CoordinatorClient::Connect(coordinator_.address());
  ASSERT_OK(client);
  WatchedOutput output;
  std::ostringstream out;
  std::ostream err(&output);
  std::thread back([&] {
    output.Await("trying again");
    coordinator_.Start();
  });
  EXPECT_OK(SubmitWithRetries(**client, {}, kTimeout, Console{out, err}));
  back.join();
}

TEST_F(SubmitTest, AWatchFindsACoordinatorThatComesBack) {
  coordinator_.OnWatch(
      {Tell({"version: 1 phase: RUNNING"}, kUnavailable), Tell({"version: 2 phase: SUCCEEDED"})});
  const auto client = CoordinatorClient::Connect(coordinator_.address());
  ASSERT_OK(client);
  WatchedOutput output;
  std::ostringstream out;
  std::ostream err(&output);
  coordinator_.Stop();
  std::thread back([&] {
    output.Await("trying again");
    coordinator_.Start();
  });
  const auto job = WaitForEnd(**client, "a0x2k9fq", kTimeout, Console{out, err});
  back.join();
  ASSERT_OK(job);
  EXPECT_EQ(job->phase(), v1::SUCCEEDED);
}

TEST_F(SubmitTest, WhatTheCoordinatorRefusesIsWrongUsage) {
  coordinator_.FailSubmits(1, {grpc::StatusCode::INVALID_ARGUMENT, "nodes: too many"});
  const Result result = Invoke(RunSubmit, {"/bin/true"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "accel: nodes: too many\n");
  EXPECT_THAT(coordinator_.submits(), SizeIs(1));
}

TEST_F(SubmitTest, WrongUsageIsFoundBeforeAnythingIsSent) {
  const Result result = Invoke(RunSubmit, {"--bogus", "/bin/true"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "accel: unknown flag --bogus; `accel submit --help` lists the flags\n");
  EXPECT_EQ(Invoke(RunSubmit, {}).exit_code, 2);
  EXPECT_THAT(coordinator_.submits(), IsEmpty());
}

TEST_F(SubmitTest, ARefusalIsTheCoordinatorsSentence) {
  coordinator_.FailSubmits(
      1, grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "the certificate was revoked"));
  const Result result = Invoke(RunSubmit, {"/bin/true"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("the certificate was revoked"));
}

TEST_F(SubmitTest, WaitExitsAsTheJobDid) {
  coordinator_.OnWatch({Tell(
      {"version: 1 phase: PENDING", "version: 2 phase: RUNNING", "version: 3 phase: SUCCEEDED"})});
  Result result = Invoke(RunSubmit, {"--wait", "/bin/true"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "a0x2k9fq\n");
  EXPECT_EQ(result.err, "");
  coordinator_.OnWatch({Tell({R"(
      job_id: "a0x2k9fq" phase: FAILED exit_code: 137
      cause { generation: 1 rank: 1 node_name: "n1" exit { kind: SIGNALLED signal: 9 }
              last_lines: "so far so good" })"})});
  result = Invoke(RunSubmit, {"--wait", "/bin/true"});
  EXPECT_EQ(result.exit_code, 137);
  EXPECT_EQ(result.err,
            "accel: rank 1 on node n1 was killed by SIGKILL (9) (generation 1 of job a0x2k9fq)\n"
            "its last lines:\n"
            "  | so far so good\n");
}

TEST_F(SubmitTest, WaitWithJsonPrintsTwoLines) {
  coordinator_.OnWatch({Tell({"job_id: 'a0x2k9fq' phase: SUCCEEDED"})});
  const Result result = Invoke(RunSubmit, {"--wait", "--json", "/bin/true"});
  EXPECT_THAT(result.out, StartsWith("{\"schema_version\":1,\"job_id\":\"a0x2k9fq\"}\n"
                                     "{\"schema_version\":1,\"job_id\":\"a0x2k9fq\","));
  EXPECT_THAT(result.out, HasSubstr("\"exit_code\":0"));
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 2);
}

TEST_F(SubmitTest, ABrokenWatchIsOpenedAgainWhereItBroke) {
  coordinator_.OnWatch({Tell({"version: 7 phase: RUNNING"}, kUnavailable), Tell({}, kUnavailable),
                        Tell({"version: 9 phase: FAILED exit_code: 4"})});
  const Result result = Invoke(RunSubmit, {"--wait", "/bin/true"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.err, AllOf(HasSubstr("trying again until it is back"),
                                HasSubstr("accel: the coordinator is back\n")));
  const auto watched = coordinator_.watched();
  ASSERT_THAT(watched, SizeIs(3));
  EXPECT_EQ(watched[0].known_version(), 0u);
  EXPECT_EQ(watched[1].known_version(), 7u);
  EXPECT_EQ(watched[2].known_version(), 7u);
}

TEST_F(SubmitTest, AWatchThatStaysBrokenIsGivenUp) {
  coordinator_.OnWatch({Tell({}, kUnavailable)});
  const auto client = CoordinatorClient::Connect(coordinator_.address());
  ASSERT_OK(client);
  std::ostringstream out, err;
  EXPECT_THAT(
      WaitForEnd(**client, "a0x2k9fq", absl::Milliseconds(50), Console{out, err}),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("job a0x2k9fq may still be running")));
}

// Trying again begins with the failure, however long the job was quiet before.
TEST_F(SubmitTest, AWatchThatBreaksAfterALongSilenceIsOpenedAgain) {
  // Longer than the command stands still on a machine that is slow.
  constexpr absl::Duration kRetryFor = absl::Seconds(5);
  coordinator_.OnWatch(
      {[](const v1::WatchJobRequest&, grpc::ServerWriter<v1::Job>* writer, FakeCoordinator*) {
         writer->Write(common::ParseText<v1::Job>("version: 1 phase: RUNNING"));
         absl::SleepFor(kRetryFor + absl::Milliseconds(100));
         return kUnavailable;
       },
       Tell({"version: 2 phase: SUCCEEDED"})});
  const auto client = CoordinatorClient::Connect(coordinator_.address());
  ASSERT_OK(client);
  std::ostringstream out, err;
  const auto job = WaitForEnd(**client, "a0x2k9fq", kRetryFor, Console{out, err});
  ASSERT_OK(job);
  EXPECT_EQ(job->phase(), v1::SUCCEEDED);
}

TEST_F(SubmitTest, AJobThatTheCoordinatorHasForgottenIsAnError) {
  const Result result = Invoke(RunSubmit, {"--wait", "/bin/true"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("no such job"));
}

TEST_F(SubmitTest, CtrlCCancelsAndASecondOneKills) {
  coordinator_.OnWatch(
      {[](const v1::WatchJobRequest&, grpc::ServerWriter<v1::Job>* writer, FakeCoordinator* self) {
        writer->Write(common::ParseText<v1::Job>("version: 1 phase: RUNNING"));
        ::kill(::getpid(), SIGINT);
        self->AwaitCancels(1);
        ::kill(::getpid(), SIGTERM);
        self->AwaitCancels(2);
        writer->Write(common::ParseText<v1::Job>(
            "version: 2 phase: CANCELLED exit_code: 143 job_id: 'a0x2k9fq'"));
        return grpc::Status::OK;
      }});
  const Result result = Invoke(RunSubmit, {"--wait", "/bin/true"});
  EXPECT_EQ(result.exit_code, 143);
  EXPECT_THAT(result.err, AllOf(StartsWith("accel: cancelling job a0x2k9fq;"),
                                HasSubstr("accel: killing job a0x2k9fq;"),
                                HasSubstr("accel: job a0x2k9fq was cancelled\n")));
  const auto cancels = coordinator_.cancels();
  ASSERT_THAT(cancels, SizeIs(2));
  EXPECT_FALSE(cancels[0].at_once());
  EXPECT_TRUE(cancels[1].at_once());
  EXPECT_EQ(cancels[0].job_id(), "a0x2k9fq");
}

TEST_F(SubmitTest, NamesTheAddressThatDoesNotAnswer) {
  const std::string address = coordinator_.address();
  coordinator_.Stop();
  const auto client = CoordinatorClient::Connect(address);
  ASSERT_OK(client);
  EXPECT_THAT((*client)->ListNodes(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("cannot reach the coordinator at " + address)));
}

}  // namespace
}  // namespace accel::cli
