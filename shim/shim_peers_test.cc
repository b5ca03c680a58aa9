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

// A process that listens as a shim does and has an older version of the protocol. Its job is a
// process of its own group, which it ends when it gets SIGTERM, as every shim does.
pid_t StartOldShim(const ShimFolder& folder, const std::string& tag_file) {
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
  while (true) {
    const int peer = accept(listener->get(), nullptr, nullptr);
    const char hello[] = {'A', 'S', 2, 5, 0, 0, 0, 0};
    if (peer >= 0) send(peer, hello, sizeof(hello), MSG_NOSIGNAL);
  }
}

TEST_F(ShimPeersTest, AShimOfAnotherVersionIsLeftAloneUntilItMustStop) {
  auto folder = ShimFolder::Make(shims_dir(), kJob);
  ASSERT_OK(folder);
  const pid_t shim = StartOldShim(*folder, this->folder() + "/worker");
  ShimRecord record;
  record.boot_id = kBoot;
  record.pid = shim;
  record.start_time_ticks = process::ReadProcess(shim)->start_time_ticks;
  record.generation = 2;
  record.ranks = {0};
  record.log_dir = this->folder() + "/logs/2";
  record.keep_without_agent = true;
  WriteRecord(record);
  const ShimReport adopted = AdoptOnly();
  EXPECT_EQ(adopted.generation->state, State::kRunning);
  EXPECT_FALSE(adopted.shim_ended);
  std::ifstream file(this->folder() + "/worker");
  pid_t worker = 0;
  ASSERT_TRUE(file >> worker);
  EXPECT_FALSE(process::ReadProcess(worker)->zombie());

  // Only this job takes no new work.
  StartCommand next = Kept("exit 0");
  next.id = {kJob, 3};
  EXPECT_FALSE(host().StartGeneration(next, common::UniqueFd()).ok());
  auto other = Kept("exit 4");
  other.id.job = common::JobId("other");
  EXPECT_EQ(RunToEnd(other).workers[0].exit->code, 4);
  EndShim(other.id.job);

  ASSERT_OK(host().StopGeneration({adopted.generation->id, absl::Seconds(5)}));
  Await(kJob, [](const ShimReport& seen) { return seen.shim_ended; });
  AwaitProcessEnd(worker);
  host().Forget(kJob);
  EXPECT_TRUE(NoFolderIsLeft());
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
