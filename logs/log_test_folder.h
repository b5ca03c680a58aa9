// A temporary folder for one rank's output, for tests.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "logs/log_paths.h"

namespace accel::logs {

class LogTest : public ::testing::Test {
 protected:
  LogTest() : log_dir_(absl::StrCat(getenv("TEST_TMPDIR"), "/logs.XXXXXX")) {
    mkdtemp(log_dir_.data());
    MakeRank(0);
  }

  void MakeRank(int rank) { mkdir(RankLogDir(log_dir_, rank).c_str(), 0755); }

  std::string rank_dir(int rank = 0) const { return RankLogDir(log_dir_, rank); }
  std::string SegmentPath(int64_t offset, LogStream stream = LogStream::kStdout) const {
    return absl::StrCat(rank_dir(), "/", SegmentName(stream, offset));
  }
  void WriteSegment(int64_t offset, const std::string& text,
                    LogStream stream = LogStream::kStdout) const {
    std::ofstream(SegmentPath(offset, stream), std::ios::app) << text;
  }
  std::string ReadSegment(int64_t offset) const {
    std::stringstream text;
    text << std::ifstream(SegmentPath(offset)).rdbuf();
    return text.str();
  }

  std::string log_dir_;
};

}  // namespace accel::logs
