#include "runtime/checkpoint/report.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace accel::runtime {
namespace {

std::string address_of(int descriptor) {
  struct stat info {};
  EXPECT_EQ(fstat(descriptor, &info), 0);
  return std::to_string(descriptor) + ":" + std::to_string(info.st_ino);
}

class ReportTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends_), 0); }
  void TearDown() override {
    close(ends_[0]);
    close(ends_[1]);
  }
  // Returns the next message, or an empty string if there is none.
  std::string received() const {
    char text[64];
    const ssize_t size = recv(ends_[0], text, sizeof(text), MSG_DONTWAIT);
    return size <= 0 ? "" : std::string(text, static_cast<std::size_t>(size));
  }

  int ends_[2] = {-1, -1};
};

TEST_F(ReportTest, SendsOneMessageForEachCheckpoint) {
  report_checkpoint(address_of(ends_[1]));
  report_checkpoint(address_of(ends_[1]));
  EXPECT_EQ(received(), "checkpoint");
  EXPECT_EQ(received(), "checkpoint");
  EXPECT_EQ(received(), "");
}

TEST_F(ReportTest, WithoutALauncherNothingHappens) {
  for (const char* socket : {"", ":", "3", "x:y", "99:1", "-1:1", "3:-7"}) {
    report_checkpoint(socket);
  }
  EXPECT_EQ(received(), "");
}

TEST_F(ReportTest, ADescriptorThatWasReusedIsLeftAlone) {
  const std::string address = address_of(ends_[1]);
  int others[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, others), 0);
  ASSERT_EQ(dup2(others[1], ends_[1]), ends_[1]);
  report_checkpoint(address);
  char text[64];
  EXPECT_LT(recv(others[0], text, sizeof(text), MSG_DONTWAIT), 0);
  close(others[0]);
  close(others[1]);
}

// Nothing reads, or the reader is gone: the program neither waits nor gets a SIGPIPE.
TEST_F(ReportTest, NeverBlocksAndNeverSignals) {
  const std::string address = address_of(ends_[1]);
  for (int i = 0; i < 10'000; ++i) report_checkpoint(address);
  shutdown(ends_[0], SHUT_RDWR);
  report_checkpoint(address);
}

}  // namespace
}  // namespace accel::runtime
