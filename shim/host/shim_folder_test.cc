#include "shim/host/shim_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"

namespace accel::shim {
namespace {

using ::testing::UnorderedElementsAre;

const common::JobId kJob("job");

std::string NewDir() {
  std::string dir =
      absl::StrCat(getenv("TEST_TMPDIR"), "/",
                   ::testing::UnitTest::GetInstance()->current_test_info()->name(), "/shims");
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(std::filesystem::path(dir).parent_path());
  return dir;
}

TEST(ShimFolder, KeepsARecordAndAResult) {
  const std::string dir = NewDir();
  auto folder = ShimFolder::Make(dir, kJob);
  ASSERT_OK(folder);
  EXPECT_TRUE(absl::IsNotFound(folder->ReadRecord().status()));
  EXPECT_FALSE(folder->ReadResult().has_value());
  ShimRecord record;
  record.pid = 7;
  ASSERT_OK(folder->WriteRecord(record));
  record.pid = 8;
  ASSERT_OK(folder->WriteRecord(record));
  GenerationReport report;
  report.id = {kJob, 2};
  folder->WriteResult(report);

  auto again = ShimFolder::Make(dir, kJob);
  ASSERT_OK(again);
  const auto read = again->ReadRecord();
  ASSERT_OK(read);
  EXPECT_EQ(read->pid, 8);
  ASSERT_TRUE(again->ReadResult().has_value());
  EXPECT_EQ(again->ReadResult()->id, report.id);
  record.generation = 3;
  ASSERT_OK(folder->WriteRecord(record));
  record.generation = 12;
  ASSERT_OK(folder->WriteRecord(record));
  EXPECT_EQ(again->ReadRecord()->generation, 12) << "the newest counts";
  again->Clear();
  EXPECT_FALSE(again->ReadResult().has_value());
  EXPECT_TRUE(absl::IsNotFound(again->ReadRecord().status()));
  again->Remove();
  EXPECT_TRUE(ShimFolder::List(dir).empty());
}

TEST(ShimFolder, AResultThatCannotBeReadIsNone) {
  const std::string dir = NewDir();
  auto folder = ShimFolder::Make(dir, kJob);
  ASSERT_OK(folder);
  for (const std::string& content : {std::string("garbage"), std::string("AS\x63\4\0\0\0\0", 8)}) {
    std::ofstream(absl::StrCat(dir, "/job/result"), std::ios::binary) << content;
    EXPECT_FALSE(folder->ReadResult().has_value());
  }
}

// A shim may be killed while it writes the file. The start has then been received, as far as
// anyone can tell.
TEST(ShimFolder, TheNewestStartedGenerationIsExactOrTooHigh) {
  const std::string dir = NewDir();
  auto folder = ShimFolder::Make(dir, kJob);
  ASSERT_OK(folder);
  EXPECT_EQ(folder->ReadStarted(), 0);
  for (const auto& [content, started] :
       {std::pair<std::string, int>{"3", 3}, {"", INT_MAX}, {"x", INT_MAX}}) {
    std::ofstream(absl::StrCat(dir, "/job/started")) << content;
    EXPECT_EQ(folder->ReadStarted(), started) << content;
  }
  folder->Clear();
  EXPECT_EQ(folder->ReadStarted(), 0);
}

TEST(ShimFolder, ListsJobs) {
  const std::string dir = NewDir();
  EXPECT_TRUE(ShimFolder::List(dir).empty());
  ASSERT_OK(ShimFolder::Make(dir, kJob));
  ASSERT_OK(ShimFolder::Make(dir, common::JobId("other")));
  std::ofstream(dir + "/a file") << "x";
  EXPECT_THAT(ShimFolder::List(dir), UnorderedElementsAre(kJob, common::JobId("other")));
}

TEST(ShimFolder, NoJobLeavesTheFolder) {
  for (const char* job : {"", ".", "..", "../other", "a/b", ".hidden"}) {
    EXPECT_FALSE(ShimFolder::Make(NewDir(), common::JobId(job)).ok()) << job;
  }
}

}  // namespace
}  // namespace accel::shim
