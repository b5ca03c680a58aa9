#include "cli/output_relay.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "agent/logs/log_paths.h"

namespace accel {
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

  void Write(int generation, int rank, LogStream stream, const std::string& text) const {
    const std::string dir = RankLogDir(GenerationLogDir(job_dir_, generation), rank);
    std::filesystem::create_directories(dir);
    std::ofstream(dir + "/" + SegmentName(stream, 0), std::ios::app) << text;
  }

  const std::string job_dir_;
};

TEST_F(OutputRelayTest, GenerationsComeInTheirOrderEachStreamToItsOwn) {
  CaptureStdout();
  CaptureStderr();
  Write(1, 0, LogStream::kStdout, "first\n");
  Write(1, 0, LogStream::kStderr, "why\n");
  Write(2, 0, LogStream::kStdout, "second\nhalf");
  {
    OutputRelay relay(job_dir_, /*prefix=*/true);
    relay.Update(1);
    relay.Drain(2);
  }
  EXPECT_EQ(GetCapturedStdout(), "[rank 0] first\n[rank 0] second\n[rank 0] half\n");
  EXPECT_EQ(GetCapturedStderr(), "[rank 0] why\n");
}

TEST_F(OutputRelayTest, AGenerationThatNeverStartedIsPassedOver) {
  CaptureStdout();
  Write(2, 0, LogStream::kStdout, "bytes as they are");
  {
    OutputRelay relay(job_dir_, /*prefix=*/false);
    relay.Drain(2);
  }
  EXPECT_EQ(GetCapturedStdout(), "bytes as they are");
}

TEST_F(OutputRelayTest, WhatIsWrittenWhileItRelaysIsComplete) {
  CaptureStdout();
  Write(1, 0, LogStream::kStdout, "a\n");
  std::string expected = "[rank 0] a\n";
  {
    OutputRelay relay(job_dir_, /*prefix=*/true);
    for (int i = 0; i < 100; ++i) {
      Write(1, 0, LogStream::kStdout, absl::StrCat(i, "\n"));
      absl::StrAppend(&expected, "[rank 0] ", i, "\n");
      relay.Update(0);
    }
    relay.Drain(1);
  }
  EXPECT_EQ(GetCapturedStdout(), expected);
}

TEST_F(OutputRelayTest, EndsWithoutADrain) { const OutputRelay relay(job_dir_, /*prefix=*/true); }

}  // namespace
}  // namespace accel
