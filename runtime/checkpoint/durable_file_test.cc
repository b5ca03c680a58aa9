#include "runtime/checkpoint/durable_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <mutex>
#include <random>
#include <tuple>

#include "accel/errors.h"
#include "runtime/checkpoint/file_reader.h"
#include "runtime/checkpoint/parallel_io.h"
#include "runtime/core/crc32c.h"
#include "runtime/testing/disk_faults.h"

namespace accel::runtime {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const fs::path& path() {
  static const fs::path path = fs::path(testing::TempDir()) / "durable";
  return path;
}

std::string random_bytes(std::size_t size) {
  std::mt19937_64 random(size);
  std::string bytes((size + 7) / 8 * 8, '\0');
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    const std::uint64_t word = random();
    std::memcpy(&bytes[i], &word, sizeof word);
  }
  bytes.resize(size);
  return bytes;
}

// Reads the file in one piece, because a loop over its bytes takes seconds without optimization.
std::string content() {
  std::string bytes(fs::file_size(path()), '\0');
  std::ifstream stream(path(), std::ios::binary);
  stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return stream ? bytes : "unreadable";
}

// Covers sizes around that of a block, parts that do not match blocks, and too few or
// too many reserved bytes.
TEST(DurableFile, ContainsWhatWasAppended) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kIoBytes - 1, kIoBytes,
                                 kIoBytes + 1, 2 * kIoBytes, 9 * kIoBytes + 4097}) {
    const std::string bytes = random_bytes(size);
    for (const std::uint64_t expected : {std::uint64_t{0}, std::uint64_t{10}, 2 * size + 1}) {
      DurableFile file(path(), expected);
      for (std::size_t at = 0; at < size; at += 1234567) {
        file.append(std::string_view(bytes).substr(at, 1234567));
      }
      const FileFacts facts = file.finish();
      EXPECT_EQ(facts.size, size);
      EXPECT_EQ(facts.crc32c, extend_crc32c(0, bytes.data(), size));
      EXPECT_EQ(facts_of(path()), facts);
      EXPECT_TRUE(content() == bytes) << size << " bytes, " << expected << " expected";
    }
  }
}

// Some file systems have no direct writes, such as an older tmpfs.
// Two threads write directly. The first is refused and turns direct writes off. The second, whose
// write has begun before, is refused only after that.
TEST(DurableFile, UsesThePageCacheIfDirectWritesAreRefused) {
  std::mutex mutex;
  std::condition_variable changed;
  int direct = 0, buffered = 0;
  set_disk_faults({.under = path(), .error = [&](const DiskOperation& operation) {
                     if (operation.name == "fallocate") return EOPNOTSUPP;
                     if (operation.name != "pwrite") return 0;
                     std::unique_lock lock(mutex);
                     const int number = operation.is_direct ? ++direct : 0;
                     buffered += !operation.is_direct;
                     changed.notify_all();
                     if (!operation.is_direct) return 0;
                     changed.wait_for(lock, std::chrono::seconds(20),
                                      [&] { return number == 1 ? direct > 1 : buffered > 0; });
                     return EINVAL;
                   }});
  const std::string bytes = random_bytes(5 * kIoBytes + 1);
  write_durably(path(), {bytes});
  set_disk_faults({});
  EXPECT_GT(direct, 1);
  EXPECT_TRUE(content() == bytes);
}

TEST(DurableFile, ErrorsNameTheFileAndTheReason) {
  const std::string bytes = random_bytes(20 * kIoBytes);
  for (const auto& [name, error, reason] :
       {std::tuple{"open", EACCES, "cannot open: Permission denied"},
        {"fallocate", ENOSPC, "cannot reserve room for: No space left on device"},
        {"pwrite", EIO, "cannot write: Input/output error"},
        {"fsync", EIO, "cannot sync: Input/output error"}}) {
    set_disk_faults({.under = path(), .error = [&](const DiskOperation& operation) {
                       return operation.name == name ? error : 0;
                     }});
    try {
      write_durably(path(), {bytes});
      ADD_FAILURE() << name;
    } catch (const CheckpointError& thrown) {
      EXPECT_THAT(thrown.what(), HasSubstr(path().string() + ": " + reason));
    }
  }
  set_disk_faults({});
}

// A folder's name is stored in its parent, so each parent that got a new name is
// synced, the outermost first.
TEST(CreateFoldersDurably, SyncsEachParentOfANewFolder) {
  const fs::path base = fs::path(testing::TempDir()) / "durable_folders";
  fs::remove_all(base);
  fs::create_directory(base);
  std::vector<std::string> synced;
  set_disk_faults({.under = base, .error = [&](const DiskOperation& operation) {
                     if (operation.name == "fsync") synced.push_back(operation.path);
                     return 0;
                   }});
  create_folders_durably(base / "a/b/c");
  EXPECT_TRUE(fs::is_directory(base / "a/b/c"));
  EXPECT_THAT(synced, ElementsAre(base, base / "a", base / "a/b"));
  synced.clear();
  create_folders_durably(base / "a/b/c");
  EXPECT_THAT(synced, IsEmpty());
  set_disk_faults({});
  std::ofstream(base / "file") << "x";
  try {
    create_folders_durably(base / "file/d");
    ADD_FAILURE();
  } catch (const CheckpointError& error) {
    EXPECT_THAT(error.what(), HasSubstr("file/d: cannot be created: Not a directory"));
  }
}

// Kills the process in each operation on the disk in turn.
TEST(ReplaceDurably, KilledAnywhereLeavesTheOldFileOrAllOfTheNew) {
  const fs::path base = fs::path(testing::TempDir()) / "replaced";
  const fs::path file = base / "folder" / "file";
  fs::remove_all(base);
  replace_durably(file, {"old"});
  bool ended = false;
  int kills = 0;
  for (std::string last = "old"; !ended; ++kills) {
    const int status = in_child([&] {
      set_disk_faults({.under = base, .kill_at = kills + 1});
      replace_durably(file, {"n", "ew"});
    });
    ended = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    const std::string now = read_text(file, 10);
    EXPECT_TRUE(now == "new" || now == last) << now;
    last = now;
  }
  EXPECT_GT(kills, 4);  // There are an open, a write, two syncs and a rename.
  EXPECT_EQ(read_text(file, 10), "new");

  set_disk_faults({.under = base, .error = [](const DiskOperation& operation) {
                     return operation.name == "rename" ? EIO : 0;
                   }});
  EXPECT_THROW(replace_durably(file, {"newer"}), CheckpointError);
  set_disk_faults({});
  EXPECT_EQ(read_text(file, 10), "new");
  EXPECT_FALSE(fs::exists(base / "folder" / "file.partial"));
}

TEST(InParallel, CallsForEachNumberOnceAndRethrows) {
  std::vector<int> calls(1000);
  in_parallel(calls.size(), [&](std::size_t i) { ++calls[i]; });
  EXPECT_EQ(calls, std::vector<int>(1000, 1));
  EXPECT_THROW(in_parallel(10,
                           [](std::size_t i) {
                             if (i == 5) throw std::out_of_range("5");
                           }),
               std::out_of_range);
}

TEST(ReadInParallel, AnnouncesEachNumberOnce) {
  for (const std::size_t count : {0, 1, 5, 1000}) {
    std::vector<std::atomic<int>> announced(count), read(count);
    read_in_parallel(
        count, [&](std::size_t i) { ++announced[i]; }, [&](std::size_t i) { ++read[i]; });
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(announced[i] * 10 + read[i], 11) << i;
  }
}

}  // namespace
}  // namespace accel::runtime
