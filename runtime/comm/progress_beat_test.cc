#include "runtime/comm/progress_beat.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <string>

namespace accel::runtime {
namespace {

using Clock = std::chrono::steady_clock;

class ProgressBeatTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends_), 0); }
  void TearDown() override {
    close(ends_[0]);
    close(ends_[1]);
  }
  std::string address() const {
    struct stat info {};
    EXPECT_EQ(fstat(ends_[1], &info), 0);
    return std::to_string(ends_[1]) + ":" + std::to_string(info.st_ino);
  }
  // Returns the next message, or an empty string if there is none.
  std::string received() const {
    char text[64];
    const ssize_t size = recv(ends_[0], text, sizeof(text), MSG_DONTWAIT);
    return size <= 0 ? "" : std::string(text, static_cast<std::size_t>(size));
  }

  int ends_[2] = {-1, -1};
};

TEST_F(ProgressBeatTest, EachSignNamesTheRank) {
  ProgressBeat beat(address(), "12");
  beat.step();
  beat.wait();
  beat.pause();
  beat.step();
  EXPECT_EQ(received(), "beat 12");
  EXPECT_EQ(received(), "wait 12");
  EXPECT_EQ(received(), "pause 12");
  EXPECT_EQ(received(), "beat 12");
  EXPECT_EQ(received(), "");
}

TEST_F(ProgressBeatTest, ManyStepsAreFewMessages) {
  ProgressBeat beat(address(), "0");
  const auto begun = Clock::now();
  for (int i = 0; i < 100'000; ++i) beat.step();
  const auto taken = Clock::now() - begun;
  int messages = 0;
  while (received() == "beat 0") ++messages;
  EXPECT_GE(messages, 1);
  EXPECT_LE(messages, 1 + taken / std::chrono::milliseconds(100));
}

TEST_F(ProgressBeatTest, TheStepAfterAWaitIsSent) {
  ProgressBeat beat(address(), "0");
  beat.step();
  beat.wait();
  beat.step();
  EXPECT_EQ(received(), "beat 0");
  EXPECT_EQ(received(), "wait 0");
  EXPECT_EQ(received(), "beat 0");
}

}  // namespace
}  // namespace accel::runtime
