#include "logs/time_index.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "logs/log_test_folder.h"

namespace accel::logs {
namespace {

class TimeIndexTest : public LogTest {
 protected:
  int64_t Since(absl::Duration ago) const {
    return FindSince(rank_dir(), LogStream::kStdout, absl::ToUnixMillis(absl::Now() - ago));
  }
  std::string path() const { return TimesPath(rank_dir(), LogStream::kStdout); }
};

TEST_F(TimeIndexTest, TellsNewOutputFromOld) {
  WriteSegment(0, "12345");
  TimeIndexWriter writer(rank_dir(), LogStream::kStdout);
  writer.Note(0);
  EXPECT_EQ(Since(absl::Hours(1)), 0);
  EXPECT_EQ(Since(-absl::Hours(1)), 5) << "all of it is older than a time in the future";
}

TEST_F(TimeIndexTest, WithoutAnIndexEverythingMayBeNew) {
  WriteSegment(0, "12345");
  EXPECT_EQ(Since(-absl::Hours(1)), 0);
  EXPECT_EQ(StreamEnd(rank_dir(), LogStream::kStdout), 5);
  EXPECT_EQ(StreamEnd(rank_dir(), LogStream::kStderr), 0);
}

// A worker can put a link there.
TEST_F(TimeIndexTest, TheEndOfAStreamIsNotThatOfAnotherFile) {
  std::ofstream(rank_dir() + "/other") << "12345";
  ASSERT_EQ(symlink((rank_dir() + "/other").c_str(), SegmentPath(100).c_str()), 0);
  EXPECT_EQ(StreamEnd(rank_dir(), LogStream::kStdout), 100);
}

// Marks of another boot have times of the wall clock only.
TEST_F(TimeIndexTest, OutputOfAnEarlierBootIsFoundByTheWallClock) {
  WriteSegment(0, "1234567890");
  const int64_t wall = absl::ToUnixMillis(absl::Now());
  std::ofstream(path()) << TimesHeader("another boot")
                        << TimesLine({0, 1000, 1000, wall - 7'200'000})
                        << TimesLine({4, 2000, 3'601'000, wall - 3'600'000});
  EXPECT_EQ(Since(absl::Hours(3)), 0);
  EXPECT_EQ(Since(absl::Minutes(90)), 4);
  EXPECT_EQ(Since(absl::Minutes(30)), 10);
}

TEST_F(TimeIndexTest, AFolderThatIsGoneIsTriedAgain) {
  TimeIndexWriter writer(rank_dir() + "/later", LogStream::kStdout);
  writer.Note(0);
  mkdir((rank_dir() + "/later").c_str(), 0755);
  // The next mark comes a second later at the earliest.
  const absl::Time give_up = absl::Now() + absl::Seconds(60);
  while (access(TimesPath(rank_dir() + "/later", LogStream::kStdout).c_str(), F_OK) != 0) {
    ASSERT_LT(absl::Now(), give_up);
    writer.Note(10);
    absl::SleepFor(absl::Milliseconds(5));
  }
  std::string text;
  std::getline(std::ifstream(TimesPath(rank_dir() + "/later", LogStream::kStdout)), text, '\0');
  EXPECT_EQ(ParseTimes(text).marks.size(), 2u);
}

}  // namespace
}  // namespace accel::logs
