#include "cli/output_relay.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/unique_fd.h"
#include "logs/log_paths.h"

namespace accel::cli {
namespace {

using ::testing::internal::CaptureStderr;
using ::testing::internal::CaptureStdout;
using ::testing::internal::GetCapturedStderr;
using ::testing::internal::GetCapturedStdout;

class OutputRelayTest : public ::testing::Test {
 protected:
  OutputRelayTest()
      : job_dir_(absl::StrCat(std::getenv("TEST_TMPDIR"), "/",
                              ::testing::UnitTest::GetInstance()->current_test_info()->name())) {}

  void Write(int generation, int rank, logs::LogStream stream, const std::string& text) const {
    const std::string dir = logs::RankLogDir(logs::GenerationLogDir(job_dir_, generation), rank);
    std::filesystem::create_directories(dir);
    std::ofstream(dir + "/" + logs::SegmentName(stream, 0), std::ios::app) << text;
  }

  const std::string job_dir_;
};

TEST_F(OutputRelayTest, GenerationsAreWrittenInOrderEachStreamToItsOwn) {
  CaptureStdout();
  CaptureStderr();
  Write(1, 0, logs::LogStream::kStdout, "first\n");
  Write(1, 0, logs::LogStream::kStderr, "why\n");
  Write(2, 0, logs::LogStream::kStdout, "second\nhalf");
  {
    OutputRelay relay(job_dir_, /*prefix=*/true);
    relay.Update(1);
    relay.Drain(2);
  }
  EXPECT_EQ(GetCapturedStdout(), "[rank 0] first\n[rank 0] second\n[rank 0] half\n");
  EXPECT_EQ(GetCapturedStderr(), "[rank 0] why\n");
}

TEST_F(OutputRelayTest, AGenerationThatNeverStartedIsSkipped) {
  CaptureStdout();
  Write(2, 0, logs::LogStream::kStdout, "bytes as they are");
  {
    OutputRelay relay(job_dir_, /*prefix=*/false);
    relay.Drain(2);
  }
  EXPECT_EQ(GetCapturedStdout(), "bytes as they are");
}

TEST_F(OutputRelayTest, WhatIsWrittenWhileItRelaysIsComplete) {
  CaptureStdout();
  Write(1, 0, logs::LogStream::kStdout, "a\n");
  std::string expected = "[rank 0] a\n";
  {
    OutputRelay relay(job_dir_, /*prefix=*/true);
    for (int i = 0; i < 100; ++i) {
      Write(1, 0, logs::LogStream::kStdout, absl::StrCat(i, "\n"));
      absl::StrAppend(&expected, "[rank 0] ", i, "\n");
      relay.Update(0);
    }
    relay.Drain(1);
  }
  EXPECT_EQ(GetCapturedStdout(), expected);
}

TEST_F(OutputRelayTest, WhatCannotBeWrittenIsCounted) {
  Write(1, 0, logs::LogStream::kStdout, "12345");
  Write(1, 0, logs::LogStream::kStderr, "");
  fflush(stdout);
  const common::UniqueFd terminal(dup(STDOUT_FILENO));
  ASSERT_EQ(dup2(common::UniqueFd(open("/dev/full", O_WRONLY | O_CLOEXEC)).get(), STDOUT_FILENO),
            STDOUT_FILENO);
  OutputRelay relay(job_dir_, /*prefix=*/false);
  relay.Drain(1);
  dup2(terminal.get(), STDOUT_FILENO);
  EXPECT_EQ(relay.loss(STDOUT_FILENO).error, ENOSPC);
  EXPECT_EQ(relay.loss(STDOUT_FILENO).bytes, 5);
  EXPECT_EQ(relay.loss(STDERR_FILENO).error, 0);
  pollfd told = {relay.loss_fd(), POLLIN, 0};
  EXPECT_EQ(poll(&told, 1, 0), 1);
}

TEST_F(OutputRelayTest, ANonBlockingReaderLosesNothing) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  const std::string text(1 << 20, 'x');  // Much more than a pipe holds.
  Write(1, 0, logs::LogStream::kStdout, text);
  fflush(stdout);
  const common::UniqueFd terminal(dup(STDOUT_FILENO));
  dup2(ends[1], STDOUT_FILENO);
  close(ends[1]);
  size_t read_bytes = 0;
  std::thread reader([&] {
    std::string piece(4096, '\0');
    pollfd news = {ends[0], POLLIN, 0};
    while (poll(&news, 1, -1) == 1) {
      const ssize_t size = read(ends[0], piece.data(), piece.size());
      if (size == 0) return;
      if (size > 0) read_bytes += static_cast<size_t>(size);
    }
  });
  {
    OutputRelay relay(job_dir_, /*prefix=*/false);
    relay.Drain(1);
    EXPECT_EQ(relay.loss(STDOUT_FILENO).error, 0);
  }
  dup2(terminal.get(), STDOUT_FILENO);
  reader.join();
  close(ends[0]);
  EXPECT_EQ(read_bytes, text.size());
}

TEST_F(OutputRelayTest, EndsWithoutADrain) { const OutputRelay relay(job_dir_, /*prefix=*/true); }

}  // namespace
}  // namespace accel::cli
