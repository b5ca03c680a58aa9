#include "cli/output_relay.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
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

  std::string Read(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(job_dir_ + name).rdbuf();
    return text.str();
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
    OutputRelay relay(job_dir_, {.prefix = true});
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
    OutputRelay relay(job_dir_, {.prefix = false});
    relay.Drain(2);
  }
  EXPECT_EQ(GetCapturedStdout(), "bytes as they are");
}

TEST_F(OutputRelayTest, WhatIsWrittenWhileItRelaysIsComplete) {
  CaptureStdout();
  Write(1, 0, logs::LogStream::kStdout, "a\n");
  std::string expected = "[rank 0] a\n";
  {
    OutputRelay relay(job_dir_, {.prefix = true});
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
  OutputRelay relay(job_dir_, {.prefix = false});
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
    OutputRelay relay(job_dir_, {.prefix = false});
    relay.Drain(1);
    EXPECT_EQ(relay.loss(STDOUT_FILENO).error, 0);
  }
  dup2(terminal.get(), STDOUT_FILENO);
  reader.join();
  close(ends[0]);
  EXPECT_EQ(read_bytes, text.size());
}

// The machines share the folder. Ranks 4 and 5 are those of this one, with the local ranks 0 and 1.
TEST_F(OutputRelayTest, TeeMarksAndCopiesByLocalRank) {
  const MachineRanks here = {.first = 4, .count = 2, .machine = 2, .machines = 4};
  CaptureStdout();
  CaptureStderr();
  Write(1, 4, logs::LogStream::kStdout, "first\n");
  Write(1, 3, logs::LogStream::kStdout, "elsewhere\n");
  Write(1, 5, logs::LogStream::kStdout, "other\n");
  Write(2, 4, logs::LogStream::kStdout, "second\nhalf");
  Write(2, 4, logs::LogStream::kStderr, "why\n");
  {
    OutputRelay relay(job_dir_, {.tee = *Tee::Parse("0:1"), .role = "trainer", .copies = true});
    relay.Update(0, {{1, here}, {2, here}});
    relay.Drain(2);
    EXPECT_TRUE(relay.copies_status().ok());
  }
  EXPECT_EQ(GetCapturedStdout(),
            "[trainer0]:first\n[rank 5] other\n[trainer0]:second\n[trainer0]:half\n");
  EXPECT_EQ(GetCapturedStderr(), "[rank 4] why\n");
  EXPECT_EQ(Read("_machine_2/attempt_0/0/stdout.log"), "first\n");
  EXPECT_EQ(Read("_machine_2/attempt_1/0/stdout.log"), "second\nhalf");
  EXPECT_FALSE(std::filesystem::exists(job_dir_ + "_machine_2/attempt_0/1"));
  EXPECT_FALSE(std::filesystem::exists(job_dir_ + "_machine_2/attempt_1/0/stderr.log"));
  EXPECT_FALSE(std::filesystem::exists(job_dir_ + "/attempt_0"));
}

TEST_F(OutputRelayTest, SilentRanksHaveTheirOwnErrorFiles) {
  Write(1, 0, logs::LogStream::kStdout, "");
  Write(1, 1, logs::LogStream::kStdout, "");
  std::ofstream(logs::WorkerErrorFile(logs::GenerationLogDir(job_dir_, 1), 1)) << "{}";
  OutputRelay relay(job_dir_, {.tee = *Tee::Parse("3"), .copies = true});
  relay.Update(0, {{1, {.count = 2}}});
  relay.Drain(1);
  EXPECT_TRUE(relay.copies_status().ok());
  EXPECT_EQ(Read("/attempt_0/1/error.json"), "{}");
  EXPECT_FALSE(std::filesystem::exists(job_dir_ + "/attempt_0/0"));
}

TEST_F(OutputRelayTest, AFolderThatIsRemovedCostsOutputAndNothingElse) {
  CaptureStdout();
  Write(1, 0, logs::LogStream::kStdout, "first\n");
  {
    OutputRelay relay(job_dir_, {});
    relay.Update(0, {{1, {.count = 1}}});
    std::filesystem::remove_all(logs::GenerationLogDir(job_dir_, 1));
    relay.Drain(1);
  }
  GetCapturedStdout();  // Perhaps the line was read before.
}

TEST_F(OutputRelayTest, EndsWithoutADrain) { const OutputRelay relay(job_dir_, {.prefix = true}); }

}  // namespace
}  // namespace accel::cli
