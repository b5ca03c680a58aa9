// Runs accel-shim with agents that misbehave, and tests its command line.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/status_matchers.h"
#include "process/spawn.h"
#include "shim/channel.h"
#include "shim/shim_program.h"

namespace accel::shim {
namespace {

using ::testing::HasSubstr;
using State = GenerationReport::State;

constexpr char kShimPath[] = "shim/accel-shim";

// One accel-shim whose agent is this test.
class ShimProtocolTest : public ::testing::Test {
 protected:
  ~ShimProtocolTest() override {
    if (pid_ > 0) Finish();
  }

  void Launch(std::vector<std::string> flags, common::UniqueFd control) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    errors_.reset(ends[0]);
    const common::UniqueFd writer(ends[1]);
    process::SpawnOptions options;
    options.path = kShimPath;
    options.argv = {kShimPath};
    options.argv.insert(options.argv.end(), flags.begin(), flags.end());
    options.fds = {{0, 0}, {writer.get(), 1}, {writer.get(), 2}};
    if (control.valid()) options.fds.push_back({control.get(), kShimSocketFd});
    const process::SpawnResult result = process::Spawn(options, false);
    ASSERT_TRUE(result.ok());
    pid_ = result.pid;
  }

  void LaunchConnected() {
    auto [ours, theirs] = MakeChannelSockets();
    agent_ = std::move(ours);
    Launch({kShimControlFlag}, std::move(theirs));
  }

  void SendRaw(absl::string_view bytes) {
    ASSERT_EQ(send(agent_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }

  // Returns the frame of a start of `sleep`.
  static std::string StartFrame(int generation, bool serves_store) {
    StartCommand start;
    start.id = {common::JobId("job"), generation};
    start.argv = {"/bin/sleep", "1000"};
    start.workers.resize(1);
    start.serves_store = serves_store;
    start.log_dir = absl::StrCat(getenv("TEST_TMPDIR"), "/logs");
    start.orphan_grace = absl::Seconds(20);
    const std::string payload = EncodeCommand(start);
    std::string frame = {'A', 'S', kProtocolVersion, static_cast<char>(FrameType::kStart)};
    for (int shift : {0, 8, 16, 24}) frame.push_back(static_cast<char>(payload.size() >> shift));
    return frame + payload;
  }

  // Waits until it exits. Returns its exit code, and keeps all that it printed in printed_.
  int Finish() {
    char buffer[4096];
    for (ssize_t size; (size = read(errors_.get(), buffer, sizeof(buffer))) > 0;) {
      printed_.append(buffer, static_cast<size_t>(size));
    }
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  common::UniqueFd agent_;
  common::UniqueFd errors_;
  pid_t pid_ = 0;
  std::string printed_;
};

TEST_F(ShimProtocolTest, Help) {
  Launch({"--help"}, common::UniqueFd());
  EXPECT_EQ(Finish(), 0);
  EXPECT_THAT(printed_, HasSubstr("Exit codes:"));
}

TEST_F(ShimProtocolTest, Version) {
  Launch({"--version"}, common::UniqueFd());
  EXPECT_EQ(Finish(), 0);
  EXPECT_THAT(printed_, ::testing::MatchesRegex("[^\n]*[0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST_F(ShimProtocolTest, WrongFlag) {
  Launch({"--frobnicate"}, common::UniqueFd());
  EXPECT_EQ(Finish(), 2);
  EXPECT_THAT(printed_, HasSubstr("--frobnicate"));
}

TEST_F(ShimProtocolTest, StartedByHand) {
  Launch({}, common::UniqueFd());
  EXPECT_EQ(Finish(), 2);
}

TEST_F(ShimProtocolTest, RefusesAControlDescriptorThatIsNotASocket) {
  Launch({kShimControlFlag}, common::UniqueFd(open("/dev/null", O_RDWR | O_CLOEXEC)));
  EXPECT_EQ(Finish(), 2);
}

TEST_F(ShimProtocolTest, EndsWithItsAgent) {
  LaunchConnected();
  agent_.reset();
  EXPECT_EQ(Finish(), 3);
  EXPECT_EQ(printed_, "");
}

// The last report is waited for at most six seconds, and here there is none.
TEST_F(ShimProtocolTest, EndsAtOnceWithoutAGeneration) {
  LaunchConnected();
  const absl::Time begin = common::SteadyClock()->Now();
  SendRaw(EncodeFrame(FrameType::kEnd, ""));
  EXPECT_EQ(Finish(), 0);
  EXPECT_LT(common::SteadyClock()->Now() - begin, absl::Seconds(5));
}

TEST_F(ShimProtocolTest, EndsOnTerm) {
  LaunchConnected();
  kill(pid_, SIGTERM);
  // The shim exits in both cases: a SIGTERM that it has not blocked yet kills it.
  const int code = Finish();
  EXPECT_TRUE(code == 0 || code == -SIGTERM) << code;
}

TEST_F(ShimProtocolTest, OutlivesWhatTerminalsSend) {
  LaunchConnected();
  pollfd hello = {agent_.get(), POLLIN, 0};
  ASSERT_EQ(poll(&hello, 1, 20'000), 1);
  SendRaw(StartFrame(1, false));
  for (int signal : {SIGINT, SIGHUP, SIGQUIT, SIGTSTP, SIGPIPE}) kill(pid_, signal);
  // Sent last, so it is handled after the others, if any of those has an effect.
  kill(pid_, SIGTERM);
  EXPECT_EQ(Finish(), 0);
}

TEST_F(ShimProtocolTest, Garbage) {
  LaunchConnected();
  SendRaw("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(Finish(), 4);
  EXPECT_EQ(printed_,
            "accel-shim: The received bytes are not a frame of accel's protocol. The connection to "
            "the agent is closed.\n");
}

TEST_F(ShimProtocolTest, OtherVersion) {
  LaunchConnected();
  SendRaw(absl::string_view("AS\x63\3\0\0\0\0", 8));
  EXPECT_EQ(Finish(), 4);
  EXPECT_THAT(printed_, HasSubstr("has version 99"));
}

TEST_F(ShimProtocolTest, MalformedCommand) {
  LaunchConnected();
  SendRaw(absl::string_view("AS\3\1\3\0\0\0abc", 11));
  EXPECT_EQ(Finish(), 4);
  EXPECT_THAT(printed_, HasSubstr("malformed"));
}

// An older agent leaves out the fields that it does not know, and a later one appends some.
TEST_F(ShimProtocolTest, ObeysAgentsOfOtherBuilds) {
  StartCommand start;
  start.id = {common::JobId("job"), 1};
  start.argv = {"/bin/sh", "-c", "exit 7"};
  start.workers.resize(1);
  start.log_dir = absl::StrCat(getenv("TEST_TMPDIR"), "/other_builds");
  const std::string payload = EncodeCommand(start);
  // The fields that were appended to version 3.
  constexpr size_t kAppended = 1 + 8 + 1 + 8 + 4 + 8;
  for (const std::string& sent :
       {payload.substr(0, payload.size() - kAppended), payload + "a field of a later build"}) {
    auto [ours, theirs] = MakeChannelSockets();
    Launch({kShimControlFlag}, std::move(theirs));
    Channel channel(std::move(ours));
    channel.Send(FrameType::kStart, sent);
    channel.Send(static_cast<FrameType>(99), "a command of a later build");
    GenerationReport newest;
    while (newest.state != State::kEnded) {
      pollfd readable = {channel.fd(), POLLIN, 0};
      ASSERT_EQ(poll(&readable, 1, 20'000), 1);
      std::vector<Frame> frames;
      ASSERT_OK(channel.Receive(&frames));
      for (const Frame& frame : frames) {
        auto message = DecodeMessage(frame.type, frame.payload);
        ASSERT_OK(message);
        if (auto* report = std::get_if<GenerationReport>(&*message)) newest = std::move(*report);
      }
    }
    ASSERT_EQ(newest.workers.size(), 1u);
    EXPECT_EQ(newest.workers[0].exit->code, 7);
    channel.Send(FrameType::kEnd, "a field of a later build");
    EXPECT_EQ(Finish(), 0);
    EXPECT_EQ(printed_, "");
  }
}

TEST_F(ShimProtocolTest, StoreWithoutItsSocket) {
  LaunchConnected();
  SendRaw(StartFrame(1, true));
  EXPECT_EQ(Finish(), 4);
  EXPECT_THAT(printed_, HasSubstr("without its store's socket"));
}

TEST_F(ShimProtocolTest, GenerationThatIsTooEarlyEndsTheJob) {
  LaunchConnected();
  SendRaw(StartFrame(1, false));
  SendRaw(StartFrame(2, false));
  EXPECT_EQ(Finish(), 4);
  EXPECT_THAT(printed_, HasSubstr("before generation 1 has ended"));
}

TEST_F(ShimProtocolTest, ObeysAnAgentThatDoesNotReadReports) {
  // More reports than the socket holds do not pile up, and the newest is delivered in the end.
  auto [ours, theirs] = MakeChannelSockets();
  const int least = 1;
  setsockopt(theirs.get(), SOL_SOCKET, SO_SNDBUF, &least, sizeof(least));
  Launch({kShimControlFlag}, std::move(theirs));
  Channel channel(std::move(ours));
  constexpr int kWorkers = 200;
  StartCommand start;
  start.id = {common::JobId("job"), 1};
  start.argv = {"/bin/true"};
  start.workers.resize(kWorkers);
  for (int rank = 0; rank < kWorkers; ++rank) start.workers[rank].rank = rank;
  start.log_dir = absl::StrCat(getenv("TEST_TMPDIR"), "/unread");
  channel.Send(FrameType::kStart, EncodeCommand(start));
  channel.Send(FrameType::kEnd, "");
  while (channel.has_unsent()) channel.Flush();
  const std::string last_rank = absl::StrCat(start.log_dir, "/rank_", kWorkers - 1);
  while (access(last_rank.c_str(), F_OK) != 0) usleep(1000);

  GenerationReport newest;
  absl::Status status;
  while (status.ok() && newest.state != State::kEnded) {
    pollfd readable = {channel.fd(), POLLIN, 0};
    ASSERT_EQ(poll(&readable, 1, 20'000), 1);
    std::vector<Frame> frames;
    status = channel.Receive(&frames);
    for (const Frame& frame : frames) {
      auto message = DecodeMessage(frame.type, frame.payload);
      ASSERT_OK(message);
      if (auto* report = std::get_if<GenerationReport>(&*message)) newest = std::move(*report);
    }
  }
  EXPECT_EQ(newest.state, State::kEnded);
  EXPECT_EQ(newest.workers.size(), kWorkers);
  EXPECT_EQ(Finish(), 0);
}

}  // namespace
}  // namespace accel::shim
