// Files of trackers: whole records, torn lines, full disks.
#include "runtime/tracking/append_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <fstream>
#include <iterator>
#include <string>

namespace accel::runtime {
namespace {

namespace fs = std::filesystem;

fs::path fresh_path(const std::string& name) {
  const fs::path path = fs::path(testing::TempDir()) / "append_file" / name;
  fs::remove_all(path);
  return path;
}

std::string read(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

TEST(AppendFileTest, MakesItsFolderAndAppends) {
  const fs::path path = fresh_path("folder") / "inner" / "lines";
  AppendFile file = AppendFile::open_lines(path);
  file.append("one\n");
  EXPECT_EQ(read(path), "one\n");  // Immediately, without a flush.
  AppendFile::open_lines(path).append("two\n");
  EXPECT_EQ(read(path), "one\ntwo\n");
}

TEST(AppendFileTest, CreatesNoFileTwice) {
  const fs::path path = fresh_path("once");
  AppendFile::create(path);
  EXPECT_THROW(AppendFile::create(path), fs::filesystem_error);
}

TEST(AppendFileTest, CutsATornLastLine) {
  const std::string torn(10'000, 'x');  // Longer than a piece that is read.
  const struct {
    std::string before, after;
  } cases[] = {{"", ""},
               {"whole\n", "whole\n"},
               {"whole\ntorn", "whole\n"},
               {"torn", ""},
               {torn, ""},
               {"whole\n" + torn, "whole\n"},
               {"a\n\n", "a\n\n"},
               {torn + "\n", torn + "\n"}};
  for (const auto& [before, after] : cases) {
    const fs::path path = fresh_path("torn");
    write(path, before);
    AppendFile::open_lines(path).append("next\n");
    EXPECT_EQ(read(path), after + "next\n");
  }
}

// A full disk accepts only a part of a record. A limit on the process's file size has
// the same effect.
TEST(AppendFileTest, WritesAllOfARecordOrNothing) {
  const fs::path path = fresh_path("full");
  AppendFile file = AppendFile::open_lines(path);
  file.append("first\n");
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{.rlim_cur = 10, .rlim_max = before.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string what;
  try {
    file.append("does not fit\n");
  } catch (const fs::filesystem_error& error) {
    what = error.what();
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_NE(what.find("cannot write"), std::string::npos) << what;
  EXPECT_NE(what.find(path.string()), std::string::npos) << what;
  EXPECT_EQ(read(path), "first\n");
  file.append("fits again\n");
  EXPECT_EQ(read(path), "first\nfits again\n");
}

}  // namespace
}  // namespace accel::runtime
