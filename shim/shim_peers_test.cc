// Shims without contact, and shims that do not understand the peer that connects to them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "shim/shim_adopt_test_base.h"

namespace accel::shim {
namespace {

using State = GenerationReport::State;
using Kind = ExitFact::Kind;

class ShimPeersTest : public ShimAdoptTest {};

TEST_F(ShimPeersTest, WithoutContactForTooLongAGenerationIsStopped) {
  auto start = Kept("sleep 1000");
  start.stop_on_disconnect_after = absl::Milliseconds(300);
  Start(start);
  const GenerationReport ended = AwaitState(kJob, State::kEnded);
  EXPECT_EQ(ended.failure->kind, Kind::kAbandoned);
  EXPECT_THAT(ended.failure->message, ::testing::HasSubstr("300ms"));
  EXPECT_EQ(ended.workers[0].exit->signal, SIGTERM);
  EndShim(kJob);
}

TEST_F(ShimPeersTest, ContactPutsTheStopOff) {
  auto start = Kept("while [ ! -e go ]; do sleep 0.01; done");
  // Long enough for the host's interval of a second on a slow machine.
  start.stop_on_disconnect_after = absl::Seconds(8);
  host().SetContact(true);
  Start(start);
  const absl::Time until = absl::Now() + absl::Seconds(9);
  Await(kJob, [until](const ShimReport&) { return absl::Now() >= until; });
  Touch("go");
  EXPECT_FALSE(AwaitState(kJob, State::kEnded).failure.has_value());
  EndShim(kJob);
}

// What a shim of another build says on each connection, given its pid.
using Say = std::string (*)(pid_t shim);

std::string Hello(pid_t shim, const std::string& appended) {
  const uint64_t ticks = process::ReadProcess(shim)->start_time_ticks;
  return EncodeFrame(FrameType::kHello, EncodeHello({kJob, shim, ticks, "9.9", 2}) + appended);
}

// Returns the payload of the report that rank 0 runs with pid 1.
std::string Report() {
  GenerationReport report;
  report.id = {kJob, 2};
  report.state = State::kRunning;
  report.workers.resize(1);
  report.workers[0].pid = 1;
  return EncodeReport(report);
}

std::string SayVersionTwo(pid_t) { return {'A', 'S', 2, 5, 0, 0, 0, 0}; }

std::string SayVersionFour(pid_t) { return {'A', 'S', 4, 5, 1, 0, 0, 0, 'x'}; }

std::string SayAnUnknownState(pid_t shim) {
  std::string report = Report();
  const size_t state = 4 + kJob.value().size() + 4;
  report[state] = 9;
  return Hello(shim, "") + EncodeFrame(FrameType::kReport, report);
}

std::string SayMoreThanIsKnown(pid_t shim) {
  return Hello(shim, "new") + EncodeFrame(static_cast<FrameType>(99), "new") +
         EncodeFrame(FrameType::kReport, Report() + "new");
}

// A process that listens as a shim does, and is of another build. Its job is a process, which it
// ends when it gets SIGTERM, as every shim does.
pid_t StartOtherShim(const ShimFolder& folder, const std::string& tag_file, Say say) {
  auto listener = folder.Listen();
  EXPECT_OK(listener);
  const pid_t shim = fork();
  if (shim != 0) return shim;
  const pid_t worker = fork();
  if (worker == 0) {
    while (true) pause();
  }
  static pid_t to_end;
  to_end = worker;
  signal(SIGTERM, [](int) {
    kill(to_end, SIGKILL);
    waitpid(to_end, nullptr, 0);
    _exit(0);
  });
  std::ofstream(tag_file) << worker << std::endl;
  const std::string bytes = say(getpid());
  while (true) {
    const int peer = accept(listener->get(), nullptr, nullptr);
    if (peer >= 0) send(peer, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
}

class OtherShimTest : public ShimAdoptTest {
 protected:
  // Starts a shim of another build whose generation 2 runs, and adopts it.
  GenerationReport AdoptOther(Say say) {
    auto folder = ShimFolder::Make(shims_dir(), kJob);
    EXPECT_OK(folder);
    ShimRecord record;
    record.boot_id = kBoot;
    record.pid = shim_ = StartOtherShim(*folder, this->folder() + "/worker", say);
    record.start_time_ticks = process::ReadProcess(shim_)->start_time_ticks;
    record.generation = 2;
    record.ranks = {0};
    record.log_dir = this->folder() + "/logs/2";
    record.keep_without_agent = true;
    WriteRecord(record);
    const ShimReport adopted = AdoptOnly();
    EXPECT_FALSE(adopted.shim_ended);
    std::ifstream file(this->folder() + "/worker");
    EXPECT_TRUE(file >> worker_);
    EXPECT_FALSE(process::ReadProcess(worker_)->zombie());
    return *adopted.generation;
  }

  void AwaitItsEnd() {
    Await(kJob, [](const ShimReport& seen) { return seen.shim_ended; });
    AwaitProcessEnd(worker_);
    host().Forget(kJob);
    EXPECT_TRUE(NoFolderIsLeft());
  }

  pid_t shim_ = 0;
  pid_t worker_ = 0;
};

class ShimThatIsNotUnderstoodTest : public OtherShimTest,
                                    public ::testing::WithParamInterface<Say> {};

TEST_P(ShimThatIsNotUnderstoodTest, IsLeftAloneUntilItMustStop) {
  const GenerationReport adopted = AdoptOther(GetParam());
  EXPECT_EQ(adopted.state, State::kRunning);
  EXPECT_EQ(adopted.workers[0].pid, 0) << "only the shim knows it";

  // Only this job takes no new work.
  StartCommand next = Kept("exit 0");
  next.id = {kJob, 3};
  EXPECT_FALSE(host().StartGeneration(next, common::UniqueFd()).ok());
  auto other = Kept("exit 4");
  other.id.job = common::JobId("other");
  EXPECT_EQ(RunToEnd(other).workers[0].exit->code, 4);
  EndShim(other.id.job);

  ASSERT_OK(host().StopGeneration({adopted.id, absl::Seconds(5)}));
  AwaitItsEnd();
}

INSTANTIATE_TEST_SUITE_P(Builds, ShimThatIsNotUnderstoodTest,
                         ::testing::Values(SayVersionTwo, SayVersionFour, SayAnUnknownState));

TEST_F(OtherShimTest, ALaterBuildWithTheSameVersionIsUnderstood) {
  const GenerationReport adopted = AdoptOther(SayMoreThanIsKnown);
  EXPECT_EQ(adopted.state, State::kRunning);
  EXPECT_EQ(adopted.workers[0].pid, 1);
  kill(shim_, SIGTERM);
  AwaitItsEnd();
}

// The package was upgraded, and the agent was not started again. The job has no part in it, so the
// coordinator must not count this as its failure.
TEST_F(OtherShimTest, AProgramOfAnotherVersionIsAFailureOfTheNode) {
  const std::string program = folder() + "/later-shim";
  std::ofstream(program)
      << "#!/bin/sh\nprintf 'AS\\004\\005\\000\\000\\000\\000' >&3\nexec sleep 1000\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  PosixShimHost::Options options;
  options.shim_path = program;
  PosixShimHost host(std::move(options));
  ASSERT_OK(host.StartShim(kJob));
  ASSERT_OK(host.StartGeneration(Script("exit 0"), common::UniqueFd()));
  std::vector<ShimReport> news;
  while (news.empty() || !news[0].shim_ended) {
    if (auto taken = host.TakeReports(); !taken.empty()) news = std::move(taken);
  }
  ASSERT_TRUE(news[0].generation.has_value());
  EXPECT_EQ(news[0].generation->state, State::kEnded);
  EXPECT_EQ(news[0].generation->failure->kind, Kind::kNotStarted);
  EXPECT_EQ(news[0].generation->failure->code, 1);
  EXPECT_THAT(news[0].generation->failure->message,
              ::testing::AllOf(::testing::HasSubstr("start the agent again"),
                               ::testing::HasSubstr("version 4 of the shim protocol")));
  EXPECT_EQ(news[0].generation->workers[0].exit->kind, Kind::kNotStarted);
}

// An agent of another version, a garbled one and a second one connect. The job is not disturbed.
TEST_F(ShimPeersTest, NoPeerEndsAKeptJob) {
  Start(Kept("while [ ! -e go ]; do sleep 0.01; done; exit 5"));
  AwaitState(kJob, State::kRunning);
  auto folder = ShimFolder::Make(shims_dir(), kJob);
  ASSERT_OK(folder);
  for (const std::string& bytes :
       {std::string("AS\x63\3\0\0\0\0", 8), std::string("GET / HTTP/1.1\r\n\r\n"),
        std::string("AS\3\1\3\0\0\0abc", 11), std::string("AS\3\x63\1\0\0\0x", 9), std::string()}) {
    auto socket = folder->Connect();
    ASSERT_OK(socket);
    ASSERT_EQ(send(socket->get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    // The shim answers with its version in any case.
    char answer[4] = {};
    ASSERT_EQ(fcntl(socket->get(), F_SETFL, 0), 0);
    ASSERT_EQ(recv(socket->get(), answer, 4, MSG_WAITALL), 4);
    EXPECT_EQ(answer[2], kProtocolVersion);
  }
  Touch("go");
  EXPECT_EQ(AwaitState(kJob, State::kEnded).workers[0].exit->code, 5);
  EndShim(kJob);
}

}  // namespace
}  // namespace accel::shim
