#include "coordinator/store/write_ahead_log.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"

namespace accel::coordinator {
namespace {

using ::accel::testing::IsOk;
using ::accel::testing::StatusIs;
using ::testing::HasSubstr;

constexpr size_t kFrameBytes = 24 + 512;

// A log that SQLite has written, with small pages, so that tests can try every byte of it.
class WriteAheadLogTest : public ::testing::Test {
 protected:
  WriteAheadLogTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    EXPECT_EQ(sqlite3_open((folder_ + "/db").c_str(), &db_), SQLITE_OK);
    Run("PRAGMA page_size = 512; PRAGMA journal_mode = WAL; CREATE TABLE rows (value BLOB);");
  }
  ~WriteAheadLogTest() override { sqlite3_close(db_); }

  void Run(const std::string& sql) {
    EXPECT_EQ(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sql;
  }

  // A commit of one or more frames.
  void Commit(int bytes) { Run(absl::StrCat("INSERT INTO rows VALUES (zeroblob(", bytes, "))")); }

  std::string Log() const {
    std::ifstream file(folder_ + "/db-wal", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::string folder_ = ::testing::TempDir() + "/write_ahead_log_test";
  sqlite3* db_ = nullptr;
};

TEST_F(WriteAheadLogTest, AFlippedBitBeforeTheLastCommitIsFoundWhereverItIs) {
  std::vector<size_t> ends;
  for (const int bytes : {100, 900, 20, 20, 600, 30, 1200}) {
    Commit(bytes);
    ends.push_back(Log().size());
  }
  const std::string log = Log();
  ASSERT_THAT(CheckWriteAheadLog(log), IsOk());
  for (size_t at = 0; at < log.size(); ++at) {
    for (const char mask : {'\x01', '\x10', '\x80'}) {
      std::string flipped = log;
      flipped[at] = static_cast<char>(flipped[at] ^ mask);
      const bool found = absl::IsDataLoss(CheckWriteAheadLog(flipped));
      if (at < ends[ends.size() - 2]) {
        ASSERT_TRUE(found) << "byte " << at;
      }
      // The last frame looks like one that a crash has cut off.
      if (at >= ends.back() - kFrameBytes) {
        ASSERT_FALSE(found) << "byte " << at;
      }
    }
  }
}

// The size of the database after a commit marks the commit's last frame. If it is a power of two,
// one flipped bit makes it 0, and the frame looks as if its commit went on.
TEST_F(WriteAheadLogTest, ACommitThatNoLongerEndsIsFound) {
  int found = 0;
  for (int i = 0; i < 16; ++i) {
    const size_t border = Log().size() - kFrameBytes;
    Commit(900);  // Several frames.
    std::string log = Log();
    const auto high_bits = log.substr(border + 4, 3);
    const auto low_bits = static_cast<uint8_t>(log[border + 7]);
    if (high_bits != std::string(3, '\0') || (low_bits & (low_bits - 1)) != 0) continue;
    log[border + 7] = '\0';
    EXPECT_TRUE(absl::IsDataLoss(CheckWriteAheadLog(log))) << int{low_bits};
    ++found;
  }
  EXPECT_GE(found, 2) << "commits after which the database has a power of two of pages";
}

TEST_F(WriteAheadLogTest, ALogThatIsCutAnywhereIsSound) {
  for (const int bytes : {100, 900, 20}) Commit(bytes);
  const std::string log = Log();
  for (size_t size = 0; size <= log.size(); ++size) {
    ASSERT_THAT(CheckWriteAheadLog(absl::string_view(log).substr(0, size)), IsOk()) << size;
  }
}

// A crash may keep any of the pages of a commit that was not synced.
TEST_F(WriteAheadLogTest, ACommitThatWasNotSyncedMayHaveHoles) {
  Commit(100);
  const size_t begin = Log().size();
  Commit(2000);
  const std::string log = Log();
  ASSERT_GE(log.size(), begin + 4 * kFrameBytes);
  for (size_t hole = begin; hole < log.size(); hole += kFrameBytes) {
    std::string torn = log;
    torn.replace(hole, kFrameBytes, kFrameBytes, '\0');
    EXPECT_THAT(CheckWriteAheadLog(torn), IsOk()) << hole;
  }
}

TEST_F(WriteAheadLogTest, FramesOfTheLogBeforeAreNotOfThisOne) {
  for (int i = 0; i < 5; ++i) Commit(100);
  const size_t size = Log().size();
  Run("PRAGMA wal_checkpoint(RESTART);");
  Commit(20);
  ASSERT_EQ(Log().size(), size) << "the log begins again in the same file";
  EXPECT_THAT(CheckWriteAheadLog(Log()), IsOk());
}

TEST_F(WriteAheadLogTest, SaysWhereTheDamageIs) {
  for (int i = 0; i < 5; ++i) Commit(100);
  std::string log = Log();
  log[32 + kFrameBytes + 40] ^= 1;
  EXPECT_THAT(CheckWriteAheadLog(log),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("frame 2 of its write-ahead log, at byte 568, does not match")));
  log[3] ^= 4;
  EXPECT_THAT(CheckWriteAheadLog(log), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("header")));
}

}  // namespace
}  // namespace accel::coordinator
