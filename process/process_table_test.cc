#include "process/process_table.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

namespace accel::process {
namespace {

constexpr char kRest[] = "1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 98765 0 0";

TEST(ParseProcessStatTest, Fields) {
  const auto entry = ParseProcessStat(std::string("42 (sh) S 7 ") + kRest);
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->pid, 42);
  EXPECT_EQ(entry->parent, 7);
  EXPECT_EQ(entry->state, 'S');
  EXPECT_EQ(entry->start_time_ticks, 98765u);
}

TEST(ParseProcessStatTest, AnEnvironmentIsExcludedOnlyAfterAnExec) {
  // START_CODE is field 26, ENV_START 50, ENV_END 51.
  const auto may_have = [](const char* start_code, const char* env_start, const char* env_end) {
    return ParseProcessStat(absl::StrCat("42 (sh) S 7 ", kRest, " 0 ", start_code,
                                         " 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 ",
                                         env_start, " ", env_end, " 0\n"))
        ->may_have_environment;
  };
  EXPECT_TRUE(may_have("4096", "8000", "8100"));
  EXPECT_FALSE(may_have("4096", "8000", "8000"));
  EXPECT_TRUE(may_have("0", "0", "0"));
  EXPECT_TRUE(may_have("0", "8000", "8000"));
}

TEST(ParseProcessStatTest, NamesMayHoldAnything) {
  const auto entry = ParseProcessStat(std::string("42 (a) R 1 (b) Z 7 ") + kRest);
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->parent, 7);
  EXPECT_TRUE(entry->zombie());
}

TEST(ParseProcessStatTest, Malformed) {
  for (const char* text : {"", "42", "42 (sh", "42 (sh) ", "42 (sh) S", "42 (sh) S 7", ") 42 (",
                           "x (sh) S 7 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 98765",
                           "42 (sh) S x 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 98765",
                           "42 (sh) S 7 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 -"}) {
    EXPECT_FALSE(ParseProcessStat(text).has_value()) << text;
  }
}

TEST(ReadProcessTest, ThisOne) {
  const auto self = ReadProcess(getpid());
  ASSERT_TRUE(self.has_value());
  EXPECT_EQ(self->pid, getpid());
  EXPECT_EQ(self->parent, getppid());
  EXPECT_GT(self->start_time_ticks, 0u);
}

TEST(ReadProcessTest, NoSuchProcess) { EXPECT_FALSE(ReadProcess(1 << 29).has_value()); }

TEST(ReadProcessTableTest, HasThisProcess) {
  const auto table = ReadProcessTable();
  EXPECT_TRUE(std::any_of(table.begin(), table.end(),
                          [](const ProcessEntry& entry) { return entry.pid == getpid(); }));
}

TEST(UserOfTest, SaysWhoseAProcessIs) {
  EXPECT_EQ(UserOf(getpid()), getuid());
  EXPECT_EQ(UserOf(1), 0u);
  EXPECT_EQ(UserOf(INT32_MAX), std::nullopt);
}

}  // namespace
}  // namespace accel::process
