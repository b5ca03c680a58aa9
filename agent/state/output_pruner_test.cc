#include "agent/state/output_pruner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <map>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "logs/log_paths.h"

namespace accel::agent {
namespace {

namespace fs = std::filesystem;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class OutputPrunerTest : public ::testing::Test {
 protected:
  void Make(std::initializer_list<const char*> folders) {
    for (const char* folder : folders) fs::create_directories(dir_ / folder);
  }

  std::vector<std::string> Children(const std::string& folder = "") const {
    std::vector<std::string> names;
    std::error_code error;  // The folder may be disappearing.
    for (fs::directory_iterator entry(dir_ / folder, error), end; !error && entry != end;
         entry.increment(error)) {
      names.push_back(entry->path().filename());
    }
    return names;
  }

  // Waits until this many entries are left.
  void AwaitCount(size_t count, const std::string& folder = "") const {
    const absl::Time give_up = absl::Now() + absl::Minutes(1);
    while (Children(folder).size() != count && absl::Now() < give_up) {
      absl::SleepFor(absl::Milliseconds(1));
    }
  }

  OutputPruner::Options Keep(size_t jobs, int generations = 100) const {
    return {.jobs_dir = dir_, .jobs_kept = jobs, .generations_kept = generations};
  }

  const fs::path dir_ = fs::path(std::getenv("TEST_TMPDIR")) /
                        ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(OutputPrunerTest, TheOldestFinishedJobsGo) {
  Make({"a/gen_1", "b/gen_1", "c/gen_1/rank_0", "d/gen_1"});
  std::ofstream(dir_ / "b/notes") << "of a user";
  OutputPruner pruner(Keep(1));
  pruner.PruneJobs({common::JobId("a")});
  AwaitCount(2);
  EXPECT_THAT(Children(), UnorderedElementsAre("a", "d"));
  pruner.PruneJobs({});
  AwaitCount(1);
  EXPECT_THAT(Children(), UnorderedElementsAre("d"));
}

TEST_F(OutputPrunerTest, TheNewestGenerationsStayAndSoDoesWhatIsNoGeneration) {
  Make({"a/gen_1/rank_0", "a/gen_2", "a/gen_9", "a/gen_10", "a/notes"});
  OutputPruner pruner(Keep(1, 3));
  pruner.PruneGenerations(common::JobId("a"), 11);
  AwaitCount(3, "a");
  EXPECT_THAT(Children("a"), UnorderedElementsAre("gen_9", "gen_10", "notes"));
}

TEST_F(OutputPrunerTest, LinksAreDeletedAndNotFollowed) {
  Make({"a/gen_1", "elsewhere/data"});
  fs::create_directory_symlink(dir_ / "elsewhere", dir_ / "a/gen_1/link");
  OutputPruner pruner(Keep(1));
  pruner.PruneJobs({});
  AwaitCount(1);
  EXPECT_THAT(Children("elsewhere"), UnorderedElementsAre("data"));
}

// A user replaces a folder by a link after the pruner has listed it, and before it deletes.
TEST_F(OutputPrunerTest, AFolderThatIsSwappedMeanwhileLeadsNowhere) {
  if (geteuid() != 0) GTEST_SKIP() << "only root has rights to give up";
  char made[] = "/tmp/accel.XXXXXX";
  ASSERT_NE(mkdtemp(made), nullptr);
  const fs::path jobs = made;
  ASSERT_EQ(chmod(made, 0711), 0);
  for (const char* folder : {"a/gen_1/rank_0", "victim/rank_0"}) {
    fs::create_directories(jobs / folder);
    std::ofstream(jobs / folder / "file") << "x";
  }
  fs::permissions(jobs / "victim", fs::perms::owner_all);
  for (const char* path : {"a", "a/gen_1", "a/gen_1/rank_0", "a/gen_1/rank_0/file"}) {
    ASSERT_EQ(chown((jobs / path).c_str(), 61234, 61234), 0);
  }
  absl::Notification tried;
  OutputPruner::Options options = Keep(0);
  options.jobs_dir = jobs;
  options.remove = [&](const fs::path& path, std::error_code* error) {
    if (path.filename() == "file") {
      fs::rename(jobs / "a/gen_1", jobs / "a/old");
      fs::create_directory_symlink(jobs / "victim", jobs / "a/gen_1");
    }
    fs::remove(path, *error);
    if (path.filename() == "file") tried.Notify();
  };
  {
    OutputPruner pruner(options);
    pruner.PruneJobs({common::JobId("victim")});
    tried.WaitForNotification();
  }
  EXPECT_TRUE(fs::exists(jobs / "victim/rank_0/file"));
  fs::remove_all(jobs);
}

// No call waits for a disk that hangs, and output that is written meanwhile is kept.
TEST_F(OutputPrunerTest, AJobThatComesBackMeanwhileKeepsWhatItWrites) {
  Make({"a/gen_1", "b/gen_1", "c/gen_1"});
  absl::Notification hangs, goes_on;
  OutputPruner::Options options = Keep(1);
  options.remove = [&](const fs::path& path, std::error_code* error) {
    if (!hangs.HasBeenNotified()) hangs.Notify();
    goes_on.WaitForNotification();
    fs::remove(path, *error);
  };
  OutputPruner pruner(options);
  pruner.PruneJobs({});
  hangs.WaitForNotification();  // The disk hangs in a/gen_1.
  Make({"a/gen_2", "b/gen_2"});
  pruner.PruneJobs({common::JobId("a"), common::JobId("b")});
  goes_on.Notify();
  AwaitCount(1, "a");
  EXPECT_THAT(Children("a"), UnorderedElementsAre("gen_2"));
  EXPECT_THAT(Children("b"), UnorderedElementsAre("gen_1", "gen_2"));
}

TEST_F(OutputPrunerTest, AJobThatComesBackMeanwhileFindsNoHalfOfItsUpload) {
  Make({"a/code/data", "a/code.old/left"});
  absl::Notification hangs, goes_on;
  OutputPruner::Options options = Keep(0);
  options.remove = [&](const fs::path& path, std::error_code* error) {
    if (path.filename() == "data") {
      hangs.Notify();
      goes_on.WaitForNotification();
    }
    fs::remove(path, *error);
  };
  OutputPruner pruner(options);
  pruner.PruneJobs({});
  hangs.WaitForNotification();
  EXPECT_THAT(Children("a"), UnorderedElementsAre("code.old"));
  EXPECT_THAT(Children("a/code.old"), UnorderedElementsAre("data"));
  Make({"a/code/data"});
  pruner.PruneJobs({common::JobId("a")});
  goes_on.Notify();
  AwaitCount(1, "a");
  EXPECT_THAT(Children("a/code"), UnorderedElementsAre("data"));
}

TEST_F(OutputPrunerTest, OnlyWhatAnUploadTakesOnThisDiskCounts) {
  Make({"a/code", "b", "c/code.old", "elsewhere"});
  const auto write = [this](const char* path) {
    std::ofstream(dir_ / path) << std::string(1000, 'x');
  };
  write("a/code/train.py");
  write("c/code.old/train.py");
  write("elsewhere/data");
  fs::create_directory_symlink(dir_ / "elsewhere", dir_ / "b/code");
  std::ofstream(dir_ / "a/code/holes").close();
  fs::resize_file(dir_ / "a/code/holes", uintmax_t{1} << 40);
  OutputScan scan(dir_);
  std::map<std::string, int64_t> bytes;
  for (const GenerationOutput& output : scan.Scan({})) bytes[output.folder] = output.bytes;
  EXPECT_THAT(bytes, UnorderedElementsAre(Pair((dir_ / "a/code").string(), 1000),
                                          Pair((dir_ / "c/code.old").string(), 1000)));
  EXPECT_TRUE(scan.Scan({common::JobId("a"), common::JobId("c")}).empty());
}

// A job that runs has one segment with a hole, and one that ended has a file with many names. Both
// take little, so they must not cost other jobs their output.
TEST_F(OutputPrunerTest, HolesAndHardLinksCountOnlyWhatTheyTake) {
  Make({"a/gen_1/rank_0", "b/gen_1/rank_0"});
  const fs::path running = dir_ / "a/gen_1/rank_0", ended = dir_ / "b/gen_1/rank_0";
  std::ofstream(running / logs::SegmentName(logs::LogStream::kStdout, 0)) << "x";
  const fs::path hole = running / logs::SegmentName(logs::LogStream::kStdout, 1);
  std::ofstream(hole).close();
  fs::resize_file(hole, uintmax_t{1} << 40);
  std::ofstream(ended / "data") << std::string(1000, 'x');
  for (const char* name : {"1", "2", "3"}) fs::create_hard_link(ended / "data", ended / name);
  std::map<std::string, int64_t> bytes;
  for (const GenerationOutput& output : OutputScan(dir_).Scan({common::JobId("a")})) {
    bytes[output.job.value()] = output.bytes;
  }
  EXPECT_THAT(bytes, UnorderedElementsAre(Pair("a", 1), Pair("b", 1000)));
}

TEST_F(OutputPrunerTest, AllOutputTogetherStaysWithinItsBudget) {
  fs::create_directories(dir_);
  OutputPruner::Options options = Keep(10);
  options.max_bytes = 4500;
  options.scan_pause = absl::Milliseconds(1);
  OutputPruner pruner(options);
  pruner.PruneJobs({common::JobId("b")});
  Make({"a/gen_1/rank_0", "b/gen_1/rank_0", "b/gen_2/rank_0", "c/gen_1/rank_0"});
  const auto write = [this](const std::string& rank_dir, int segments) {
    for (int i = 0; i < segments; ++i) {
      std::ofstream(dir_ / rank_dir / logs::SegmentName(logs::LogStream::kStdout, i * 1000))
          << std::string(1000, 'x');
    }
  };
  write("a/gen_1/rank_0", 3);
  write("b/gen_1/rank_0", 3);
  write("b/gen_2/rank_0", 6);
  write("c/gen_1/rank_0", 3);
  AwaitCount(4, "b/gen_2/rank_0");
  AwaitCount(1, "b");
  AwaitCount(1);
  EXPECT_THAT(Children(), UnorderedElementsAre("b"));
  EXPECT_THAT(Children("b"), UnorderedElementsAre("gen_2"));
  // The gap is between the first segment and the newest ones.
  EXPECT_EQ(logs::ListSegments((dir_ / "b/gen_2/rank_0").string(), logs::LogStream::kStdout),
            (std::vector<int64_t>{0, 3000, 4000, 5000}));
  // Without any event, output that grows is seen too.
  write("b/gen_2/rank_0", 8);
  AwaitCount(4, "b/gen_2/rank_0");
  EXPECT_EQ(Children("b/gen_2/rank_0").size(), 4u);
}

}  // namespace
}  // namespace accel::agent
