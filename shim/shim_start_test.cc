// Tests what a worker inherits at its start, and what a failed start reports.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_matchers.h"
#include "shim/shim_test_base.h"

namespace accel::shim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using State = GenerationReport::State;

class ShimStartTest : public ShimTest {
 protected:
  // Runs it and checks that no process of it was ever started.
  ExitFact Refused(const StartCommand& start) {
    const GenerationReport report = RunToEnd(start);
    EXPECT_TRUE(report.failure.has_value());
    for (const WorkerReport& worker : report.workers) {
      EXPECT_EQ(worker.exit->kind, ExitFact::Kind::kNotStarted);
    }
    const ExitFact failure = report.failure.value_or(ExitFact());
    EXPECT_EQ(failure.kind, ExitFact::Kind::kNotStarted);
    EXPECT_EQ(report.workers.back().pid, 0);
    return failure;
  }

  // Sets the limit for shims and for the processes that they start.
  void LimitOpenFiles(rlimit limit) {
    PosixShimHost::Options options;
    options.open_files = limit;
    MakeHost(std::move(options));
  }

  std::string WriteFile(const std::string& name, const std::string& text, mode_t mode) {
    const std::string path = absl::StrCat(folder(), "/", name);
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
    return path;
  }
};

TEST_F(ShimStartTest, ProgramThatDoesNotExist) {
  const ExitFact failure = Refused(Command({"/no/such/program"}, 2));
  EXPECT_EQ(failure.code, 127);
  EXPECT_EQ(failure.message, "/no/such/program does not exist on this node.");
}

TEST_F(ShimStartTest, ProgramThatIsNotInThePath) {
  const ExitFact failure = Refused(Command({"no-such-program"}));
  EXPECT_EQ(failure.code, 127);
  EXPECT_EQ(failure.message,
            "no-such-program was not found on this node in the job's PATH (/usr/bin:/bin).");
}

TEST_F(ShimStartTest, MessagesAreShortHoweverLongTheProgramsName) {
  // More than one frame would hold, if each worker's report had the message.
  const ExitFact failure = Refused(Command({std::string(120 << 10, '\x01')}, 200));
  EXPECT_EQ(failure.code, 127);
  EXPECT_LE(failure.message.size(), 4096u);
  EXPECT_THAT(failure.message, ::testing::StartsWith("\\x01\\x01"));
  EXPECT_THAT(failure.message, HasSubstr(" was not found on this node in the job's PATH"));
}

TEST_F(ShimStartTest, OnlyTheFirstWorkersReportHasTheMessage) {
  const GenerationReport report = RunToEnd(Command({"/no/such/program"}, 3));
  EXPECT_EQ(report.workers[0].exit->message, report.failure->message);
  EXPECT_EQ(report.workers[1].exit->message, "");
  EXPECT_EQ(report.workers[2].exit->code, 127);
}

// The shim raises its own limit of open files, and gives each worker the user's limit.
TEST_F(ShimStartTest, MoreWorkersThanTheSoftLimitOfOpenFilesWouldAllow) {
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  LimitOpenFiles({64, limit.rlim_max});
  const auto start = Script("[ $(ulimit -n) = 64 ] || exit 9", 200);
  const GenerationReport report = RunToEnd(start);
  EXPECT_FALSE(report.failure.has_value()) << report.failure->message;
  for (const WorkerReport& worker : report.workers) EXPECT_TRUE(worker.exit->ok()) << worker.rank;
}

TEST_F(ShimStartTest, MoreWorkersThanTheHardLimitOfOpenFilesAllows) {
  LimitOpenFiles({256, 256});
  const ExitFact failure = Refused(Script("exit 0", 100));
  EXPECT_EQ(failure.code, 126) << "the node can start other jobs";
  EXPECT_EQ(failure.message,
            "100 workers need 464 open files, and the limit of this node is 256. Raise it (ulimit "
            "-Hn, LimitNOFILE= of the agent's unit), or start fewer processes.");
}

// The node is healthy, so no other job may suffer.
TEST_F(ShimStartTest, PathsThatCannotBeFollowedAreTheJobsOwnFailure) {
  const std::string loop = absl::StrCat(folder(), "/loop");
  ASSERT_EQ(symlink(loop.c_str(), loop.c_str()), 0);
  auto in_loop = Script("exit 0");
  in_loop.workdir = loop;
  ExitFact failure = Refused(in_loop);
  EXPECT_EQ(failure.code, 126);
  EXPECT_THAT(failure.message, HasSubstr("/loop cannot be reached on this node: Too many levels"));

  auto long_name = Script("exit 0");
  long_name.required_paths = {absl::StrCat("/", std::string(300, 'x'))};
  failure = Refused(long_name);
  EXPECT_EQ(failure.code, 126);
  EXPECT_THAT(failure.message, HasSubstr("File name too long"));
}

TEST_F(ShimStartTest, ProgramThatIsNotExecutable) {
  const std::string path = WriteFile("data", "#!/bin/sh\n", 0644);
  const ExitFact failure = Refused(Command({path}));
  EXPECT_EQ(failure.code, 126);
  EXPECT_THAT(failure.message, HasSubstr("not executable"));
}

TEST_F(ShimStartTest, ProgramThatIsAFolder) {
  const ExitFact failure = Refused(Command({folder()}));
  EXPECT_EQ(failure.code, 126);
  EXPECT_THAT(failure.message, HasSubstr("is a folder"));
}

TEST_F(ShimStartTest, ProgramWithoutItsInterpreter) {
  const std::string path = WriteFile("script", "#!/no/such/interpreter\n", 0755);
  const ExitFact failure = Refused(Command({path}, 2));
  EXPECT_EQ(failure.code, 126);
  EXPECT_THAT(failure.message, HasSubstr("interpreter"));
}

TEST_F(ShimStartTest, ProgramThatTheKernelCannotRun) {
  const std::string path = WriteFile("text", "no program\n", 0755);
  const ExitFact failure = Refused(Command({path}));
  EXPECT_EQ(failure.code, 126);
  EXPECT_THAT(failure.message, HasSubstr("Exec format error"));
}

TEST_F(ShimStartTest, MissingWorkdir) {
  auto start = Script("exit 0");
  start.workdir = "/no/such/folder";
  const ExitFact failure = Refused(start);
  EXPECT_EQ(failure.code, 127);
  EXPECT_EQ(failure.message, "The working directory /no/such/folder does not exist on this node.");
}

TEST_F(ShimStartTest, MissingRequiredPath) {
  auto start = Script("exit 0");
  start.required_paths = {"/bin/sh", "/no/such/script.py"};
  const ExitFact failure = Refused(start);
  EXPECT_EQ(failure.code, 127);
  EXPECT_EQ(failure.message, "/no/such/script.py does not exist on this node.");
}

TEST_F(ShimStartTest, LogFolderThatCannotBeMade) {
  auto start = Script("exit 0");
  start.log_dir = WriteFile("file", "", 0644) + "/logs";
  EXPECT_THAT(Refused(start).message, HasSubstr("Not a directory"));
}

TEST_F(ShimStartTest, OneWorkerThatCannotStartEndsTheOthers) {
  auto start = Command({"tool"}, 2);
  WriteFile("tool", "#!/bin/sh\nsleep 1000\n", 0755);
  start.workers[0].env.push_back(absl::StrCat("PATH=/bin:", folder()));
  start.workers[1].env.push_back("PATH=/no/such/folder");
  const GenerationReport report = RunToEnd(start);
  EXPECT_EQ(report.failure->code, 127);
  EXPECT_EQ(report.workers[0].exit->signal, SIGKILL);
  EXPECT_EQ(report.workers[1].exit->kind, ExitFact::Kind::kNotStarted);
}

TEST_F(ShimStartTest, ShimThatCannotBeStarted) {
  PosixShimHost host({"/no/such/accel-shim", {}});
  const absl::Status status = host.StartShim(common::JobId("job"));
  EXPECT_THAT(status, testing::StatusIs(absl::StatusCode::kInternal,
                                        HasSubstr("/no/such/accel-shim: No such file")));
}

TEST_F(ShimStartTest, StoreThatThisShimDoesNotServe) {
  auto start = Script("exit 0");
  start.serves_store = true;
  ASSERT_OK(host().StartShim(start.id.job));
  EXPECT_TRUE(absl::IsInvalidArgument(host().StartGeneration(start, common::UniqueFd())));
}

TEST_F(ShimStartTest, WorkersSeeTheirEnvironmentAndFolder) {
  auto start = Script("echo $RANK $TORCHELASTIC_ERROR_FILE; pwd; exec 2>&-; env | wc -l", 2);
  RunToEnd(start);
  for (int rank : {0, 1}) {
    EXPECT_THAT(absl::StrSplit(Output(start, rank), '\n'),
                ElementsAre(absl::StrCat(rank, " ", start.log_dir, "/rank_", rank, "/error.json"),
                            folder(), "5", ""));
  }
}

TEST_F(ShimStartTest, WorkersInheritNothingButTheirThreeDescriptors) {
  // A worker has no descriptor of the shim or the agent, close-on-exec or not.
  const common::UniqueFd leak(open("/dev/null", O_RDONLY));
  const auto start = Command({"ls", "/proc/self/fd"}, 2);
  RunToEnd(start);
  for (int rank : {0, 1})
    EXPECT_EQ(Output(start, rank), "0\n1\n2\n3\n");  // 3 is the folder that ls reads.
}

TEST_F(ShimStartTest, WorkersReportCheckpointsIfTheStartAsksForIt) {
  auto start = Script(
      "[ \"${ACCEL_REPORT_SOCKET%:*}\" = 3 ] || exit 9\n"
      "printf checkpoint >&3; printf of-a-later-version >&3; printf checkpoint >&3",
      2);
  start.report_checkpoints = true;
  const GenerationReport report = RunToEnd(start);
  EXPECT_TRUE(report.workers[0].exit->ok());
  EXPECT_EQ(report.checkpoints, 4);
}

TEST_F(ShimStartTest, WorkersHaveDefaultSignals) {
  const auto start = Script("exec cat /proc/self/status");
  RunToEnd(start);
  EXPECT_THAT(Output(start), HasSubstr("SigBlk:\t0000000000000000\n"
                                       "SigIgn:\t0000000000000000\n"
                                       "SigCgt:\t0000000000000000\n"));
}

TEST_F(ShimStartTest, HangupStaysIgnoredUnderNohup) {
  signal(SIGHUP, SIG_IGN);
  const auto start = Script("grep SigIgn /proc/self/status");
  RunToEnd(start);
  signal(SIGHUP, SIG_DFL);
  EXPECT_EQ(Output(start), "SigIgn:\t0000000000000001\n");
}

TEST_F(ShimStartTest, StandardInputIsEmpty) {
  const auto start = Script("read line || echo end");
  RunToEnd(start);
  EXPECT_EQ(Output(start), "end\n");
}

TEST_F(ShimStartTest, GenerationsAreNotStartedTwiceOrTooEarly) {
  auto start = Script("sleep 1000");
  Start(start);
  AwaitState(start.id.job, State::kRunning);
  EXPECT_OK(host().StartGeneration(start, common::UniqueFd()));
  const auto next = Script("exit 0");
  EXPECT_TRUE(absl::IsFailedPrecondition(host().StartGeneration(next, common::UniqueFd())));
  EXPECT_TRUE(absl::IsAlreadyExists(host().StartShim(start.id.job)));
  start.id.job = common::JobId("unknown");
  EXPECT_TRUE(absl::IsNotFound(host().StartGeneration(start, common::UniqueFd())));
  host().EndShim(common::JobId("unknown"));
  EndShim(common::JobId("job"));
}

TEST_F(ShimStartTest, StartThatIsTooLarge) {
  auto start = Script("exit 0");
  start.workers[0].env.push_back("HUGE=" + std::string(17 << 20, 'x'));
  ASSERT_OK(host().StartShim(start.id.job));
  EXPECT_THAT(host().StartGeneration(start, common::UniqueFd()),
              testing::StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("limit")));
}

TEST_F(ShimStartTest, AShimThatIsShuttingDownTakesNoStart) {
  const auto start = Script("exit 0");
  ASSERT_OK(host().StartShim(start.id.job));
  host().EndShim(start.id.job);
  EXPECT_THAT(host().StartGeneration(start, common::UniqueFd()),
              testing::StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("shutting down")));
  EndShim(start.id.job);
  EXPECT_EQ(RunToEnd(start).workers[0].exit->code, 0);
}

TEST_F(ShimStartTest, StartThatTheKernelFindsTooLarge) {
  auto start = Script("exit 0");
  start.workers[0].env.push_back("LARGE=" + std::string(4 << 20, 'x'));
  EXPECT_THAT(Refused(start).message, HasSubstr("Argument list too long"));
}

}  // namespace
}  // namespace accel::shim
