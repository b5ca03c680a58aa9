#include "coordinator/store/sqlite_file.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/match.h"
#include "common/status_matchers.h"

namespace accel::coordinator {
namespace {

using ::accel::testing::IsOk;
using ::accel::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

class SqliteFileTest : public ::testing::Test {
 protected:
  SqliteFileTest() {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  ~SqliteFileTest() override { fs::remove_all(folder_); }

  absl::StatusOr<std::unique_ptr<SqliteFile>> Open() {
    return SqliteFile::Open(path_, SqliteFile::Missing::kCreate);
  }

  // Returns the rows as a coordinator that starts now would load them.
  absl::StatusOr<std::vector<Row>> Load() {
    absl::StatusOr<std::unique_ptr<SqliteFile>> file = Open();
    if (!file.ok()) return file.status();
    return (*file)->Read();
  }

  // Makes a file as a killed process leaves it: what was committed last is in the write-ahead log.
  // Commit N puts row "n" with value N.
  void MakeCrashed(int commits) {
    ASSERT_OK_AND_ASSIGN(auto file, Open());
    for (int i = 1; i <= commits; ++i) {
      ASSERT_OK(file->Write({{{"n", std::to_string(i)}, {"row/" + std::to_string(i), "x"}}, {}}));
      ends_.push_back(fs::file_size(path_ + "-wal"));
    }
    for (const char* end : {"", "-wal"}) fs::copy_file(path_ + end, path_ + end + ".kept");
    file.reset();
    Restore();
  }

  void Restore() {
    fs::remove(path_ + "-shm");
    for (const char* end : {"", "-wal"}) {
      fs::copy_file(path_ + end + ".kept", path_ + end, fs::copy_options::overwrite_existing);
    }
  }

  std::vector<size_t> ends_;  // Where the bytes of each commit end in the log.
  // In memory if possible, because thousands of databases are opened, and each waits for its disk.
  const std::string folder_ = (access("/dev/shm", W_OK) == 0 ? "/dev/shm" : ::testing::TempDir()) +
                              ("/sqlite_file_test." + std::to_string(getpid()));
  const std::string path_ = folder_ + "/cluster.db";
};

TEST_F(SqliteFileTest, KeepsRowsSortedByKey) {
  {
    ASSERT_OK_AND_ASSIGN(auto file, Open());
    ASSERT_OK(file->Write({{{"b", "2"}, {"a/1", std::string("\0x", 2)}, {"a/2", ""}}, {}}));
    ASSERT_OK(file->Write({{{"b", "3"}}, {"a/2"}}));
  }
  ASSERT_OK_AND_ASSIGN(const std::vector<Row> rows, Load());
  EXPECT_EQ(rows, (std::vector<Row>{{"a/1", std::string("\0x", 2)}, {"b", "3"}}));
}

TEST_F(SqliteFileTest, ErasesByKeyAndByFolder) {
  ASSERT_OK_AND_ASSIGN(auto file, Open());
  ASSERT_OK(file->Write({{{"job/a/spec", ""}, {"job/a/x/1", ""}, {"job/ab/spec", ""}}, {}}));
  ASSERT_OK(file->Write({{{"job/b", ""}, {"job/a0", ""}}, {"job/ab", "job/a/"}}));
  ASSERT_OK_AND_ASSIGN(const std::vector<Row> rows, file->Read());
  EXPECT_EQ(rows, (std::vector<Row>{{"job/a0", ""}, {"job/ab/spec", ""}, {"job/b", ""}}));
}

// Invariant 1. A crash may cut the write-ahead log at any byte. The rows are then exactly those of
// the commits whose bytes are all there. The last two commits are cut at every byte, the earlier
// ones at some.
TEST_F(SqliteFileTest, ALogThatIsCutAnywhereHoldsWholeCommits) {
  constexpr int kCommits = 6;
  MakeCrashed(kCommits);
  const std::string log = ReadBytes(path_ + "-wal.kept");
  ASSERT_GT(log.size(), 6 * 4096u);
  ASSERT_EQ(ends_.back(), log.size());
  for (size_t size = 0; size <= log.size(); size += size < ends_[kCommits - 3] - 211 ? 211 : 1) {
    Restore();
    WriteBytes(path_ + "-wal", log.substr(0, std::min(size, log.size())));
    const absl::StatusOr<std::vector<Row>> rows = Load();
    if (absl::IsFailedPrecondition(rows.status())) continue;
    ASSERT_OK(rows) << size;
    const int found = rows->empty() ? 0 : std::stoi(rows->front().value);
    ASSERT_EQ(rows->size(), found == 0 ? 0 : found + 1) << size;
    ASSERT_EQ(found, std::upper_bound(ends_.begin(), ends_.end(), size) - ends_.begin()) << size;
  }
  Restore();
  ASSERT_OK_AND_ASSIGN(const std::vector<Row> rows, Load());
  EXPECT_EQ(rows.front().value, std::to_string(kCommits));
}

// Invariant 1. A flipped bit in the log would make SQLite drop the commits from there on, so it is
// found. In the last commit it looks like a torn write.
TEST_F(SqliteFileTest, AFlippedBitOfTheLogDropsNoCommitButTheLast) {
  constexpr int kCommits = 6;
  MakeCrashed(kCommits);
  const std::string log = ReadBytes(path_ + "-wal.kept");
  int found = 0;
  for (size_t at = 7; at < log.size(); at += log.size() / 20) {
    Restore();
    std::string flipped = log;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    WriteBytes(path_ + "-wal", flipped);
    const absl::StatusOr<std::vector<Row>> rows = Load();
    if (absl::IsDataLoss(rows.status())) {
      ++found;
      EXPECT_THAT(rows.status().message(),
                  AllOf(HasSubstr(path_ + " is damaged"), HasSubstr("write-ahead log"),
                        HasSubstr("--backup")));
      continue;
    }
    ASSERT_OK(rows) << "byte " << at;
    ASSERT_GE(std::stoi(rows->front().value), kCommits - 1) << "byte " << at;
  }
  EXPECT_GT(found, 10);
}

// A flipped bit in the database is found.
TEST_F(SqliteFileTest, AFlippedBitIsFoundOrHarmless) {
  {
    ASSERT_OK_AND_ASSIGN(auto file, Open());
    for (int i = 0; i < 40; ++i) {
      ASSERT_OK(file->Write({{{"row/" + std::to_string(i), std::string(300, 'v')}}, {}}));
    }
  }
  ASSERT_OK_AND_ASSIGN(const std::vector<Row> whole, Load());
  const std::string bytes = ReadBytes(path_);
  int found = 0;
  for (size_t at = 0; at < bytes.size(); at += 41) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    WriteBytes(path_, flipped);
    fs::remove(path_ + "-wal");
    const absl::StatusOr<std::vector<Row>> rows = Load();
    if (rows.ok()) {
      ASSERT_EQ(*rows, whole) << "byte " << at;
      continue;
    }
    ++found;
    EXPECT_THAT(rows.status().message(), HasSubstr(path_)) << "byte " << at;
  }
  EXPECT_GT(found, 100);
}

TEST_F(SqliteFileTest, SaysWhatIsDamagedAndWhatToDo) {
  {
    ASSERT_OK_AND_ASSIGN(auto file, Open());
    ASSERT_OK(file->Write({{{"row", "needle in a haystack"}}, {}}));
  }
  std::string bytes = ReadBytes(path_);
  bytes[bytes.find("needle")] = 'n' ^ 1;
  WriteBytes(path_, bytes);
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kDataLoss,
                               HasSubstr("the checksum of row row does not match; restore a copy "
                                         "that `accel-coordinator --backup` made")));
  WriteBytes(path_, std::string(8192, 'x'));
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path_ + " is damaged")));
}

TEST_F(SqliteFileTest, RefusesFilesOfOthersAndOfLaterVersions) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "CREATE TABLE t (x)", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kFailedPrecondition,
                               HasSubstr("is a database of another program")));
  ASSERT_EQ(sqlite3_exec(db, "PRAGMA application_id = 1633903468; PRAGMA user_version = 99",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(db);
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kFailedPrecondition,
                               HasSubstr("has version 99 of the table")));
  EXPECT_THAT(SqliteFile::Open(folder_ + "/none", SqliteFile::Missing::kIsAnError).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("there is no file")));
  EXPECT_THAT(SqliteFile::Open(folder_, SqliteFile::Missing::kCreate).status(),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(folder_)));
}

// A write that the disk refuses leaves everything as it was. RLIMIT_FSIZE plays the full disk.
TEST_F(SqliteFileTest, ARefusedWriteChangesNothing) {
  ASSERT_OK_AND_ASSIGN(auto file, Open());
  ASSERT_OK(file->Write({{{"before", "1"}}, {}}));
  signal(SIGXFSZ, SIG_IGN);
  rlimit unlimited;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  const rlimit full = {64 << 10, unlimited.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  const absl::Status refused = file->Write({{{"large", std::string(256 << 10, 'x')}}, {"before"}});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
  EXPECT_FALSE(refused.ok());
  EXPECT_THAT(refused.message(), HasSubstr(path_));
  ASSERT_OK_AND_ASSIGN(const std::vector<Row> rows, file->Read());
  EXPECT_EQ(rows, (std::vector<Row>{{"before", "1"}}));
  EXPECT_OK(file->Write({{{"after", "2"}}, {}}));
}

TEST_F(SqliteFileTest, ACopyIsWholeWhileTheFileIsInUse) {
  ASSERT_OK_AND_ASSIGN(auto writer, Open());
  ASSERT_OK(writer->Write({{{"a", "1"}}, {}}));
  ASSERT_OK_AND_ASSIGN(auto reader, SqliteFile::Open(path_, SqliteFile::Missing::kIsAnError));
  const std::string copy = folder_ + "/copy.db";
  ASSERT_OK(reader->CopyTo(copy));
  ASSERT_OK(writer->Write({{{"a", "2"}}, {}}));
  EXPECT_OK(reader->Check());
  ASSERT_OK_AND_ASSIGN(auto copied, SqliteFile::Open(copy, SqliteFile::Missing::kIsAnError));
  ASSERT_OK_AND_ASSIGN(const std::vector<Row> rows, copied->Read());
  EXPECT_EQ(rows, (std::vector<Row>{{"a", "1"}}));
  EXPECT_THAT(reader->CopyTo(folder_ + "/no/such/copy"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/no/such/copy")));
}

// Files whose name ends with ".unfinished" cannot be locked or written, with these codes.
class FaultyDisk {
 public:
  FaultyDisk(int lock, int write) {
    lock_ = lock;
    write_ = write;
    locks_ = 0;
    real_ = sqlite3_vfs_find(nullptr);
    faulty_ = *real_;
    faulty_.zName = "faulty";
    faulty_.xOpen = Open;
    sqlite3_vfs_register(&faulty_, /*makeDflt=*/1);
  }
  ~FaultyDisk() {
    sqlite3_vfs_unregister(&faulty_);
    sqlite3_vfs_register(real_, /*makeDflt=*/1);
  }

 private:
  static constexpr int kMaxLocks = 1000;

  static int Open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out) {
    const int code = real_->xOpen(real_, name, file, flags, out);
    if (code != SQLITE_OK || name == nullptr || !absl::EndsWith(name, ".unfinished")) return code;
    real_methods_ = file->pMethods;
    methods_ = *real_methods_;
    methods_.xLock = [](sqlite3_file* locked, int level) {
      // Ends a caller that would try forever.
      return lock_ == SQLITE_OK || ++locks_ > kMaxLocks ? real_methods_->xLock(locked, level)
                                                        : lock_;
    };
    methods_.xWrite = [](sqlite3_file* written, const void* bytes, int size, sqlite3_int64 at) {
      return write_ == SQLITE_OK ? real_methods_->xWrite(written, bytes, size, at) : write_;
    };
    file->pMethods = &methods_;
    return code;
  }

  static inline int lock_, write_, locks_;
  static inline sqlite3_vfs* real_;
  static inline sqlite3_vfs faulty_;
  static inline const sqlite3_io_methods* real_methods_;
  static inline sqlite3_io_methods methods_;
};

TEST_F(SqliteFileTest, ACopyToAFullDiskSaysSoAndLeavesNothing) {
  ASSERT_OK_AND_ASSIGN(auto file, Open());
  ASSERT_OK(file->Write({{{"a", "1"}}, {}}));
  const std::string copy = folder_ + "/copy.db";
  {
    const FaultyDisk full(SQLITE_OK, SQLITE_FULL);
    EXPECT_THAT(file->CopyTo(copy), StatusIs(absl::StatusCode::kResourceExhausted,
                                             AllOf(HasSubstr("the disk is full"), HasSubstr(copy),
                                                   HasSubstr("copy to another disk"))));
  }
  EXPECT_FALSE(fs::exists(copy + ".unfinished"));
  EXPECT_FALSE(fs::exists(copy));
  EXPECT_OK(file->CopyTo(copy));
}

TEST_F(SqliteFileTest, ACopyThatAnotherProcessHasLockedIsAnError) {
  ASSERT_OK_AND_ASSIGN(auto file, Open());
  ASSERT_OK(file->Write({{{"a", "1"}}, {}}));
  const FaultyDisk locked(SQLITE_BUSY, SQLITE_OK);
  EXPECT_THAT(file->CopyTo(folder_ + "/copy.db"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("database is locked")));
}

}  // namespace
}  // namespace accel::coordinator
