#include "coordinator/access/audit_log.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"

namespace accel::coordinator {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> LinesOf(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

AuditEntry Entry(const std::string& object) {
  return {.caller = {CallerKind::kUser, "ann", "07", Role::kUser},
          .peer = "unix:",
          .action = "submit",
          .object = object,
          .result = "ok"};
}

class AuditLogTest : public ::testing::Test {
 protected:
  AuditLogTest() {
    std::string name = absl::StrCat(::testing::TempDir(), "/audit.XXXXXX");
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path_ = absl::StrCat(name, "/audit.jsonl");
  }

  std::string path_;
};

TEST_F(AuditLogTest, AppendsToWhatThereIs) {
  for (const char* job : {"job-1", "job-2"}) {
    auto log = AuditLog::Open(path_);
    ASSERT_OK(log);
    (*log)->Write(Entry(job));
  }
  const std::vector<std::string> lines = LinesOf(path_);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], HasSubstr("job-1"));
  EXPECT_THAT(lines[1], HasSubstr("job-2"));
  struct stat info;
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(AuditLogTest, OldFilesGo) {
  const AuditLimits limits = {.file_bytes = 400, .files = 3};
  {
    auto log = AuditLog::Open(path_, limits);
    ASSERT_OK(log);
    for (int i = 0; i < 40; ++i) (*log)->Write(Entry(absl::StrCat("job-", i)));
  }
  std::vector<std::string> kept;
  for (const char* suffix : {".2", ".1", ""}) {
    const std::vector<std::string> lines = LinesOf(absl::StrCat(path_, suffix));
    EXPECT_GT(lines.size(), 0u);
    kept.insert(kept.end(), lines.begin(), lines.end());
  }
  EXPECT_NE(access(absl::StrCat(path_, ".3").c_str(), F_OK), 0);
  EXPECT_LT(kept.size(), 10u);
  EXPECT_THAT(kept.back(), HasSubstr("job-39"));
}

TEST_F(AuditLogTest, AFileThatCannotBeRenamedIsLogged) {
  const std::string obstacle = absl::StrCat(path_, ".1");
  ASSERT_EQ(mkdir(obstacle.c_str(), 0700), 0);
  ::testing::internal::CaptureStderr();
  {
    auto log = AuditLog::Open(path_, {.file_bytes = 400, .files = 2});
    ASSERT_OK(log);
    for (int i = 0; i < 20; ++i) (*log)->Write(Entry(absl::StrCat("job-", i)));
  }
  const std::string logged = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(logged, HasSubstr("cannot rename"));
  EXPECT_THAT(logged, HasSubstr(obstacle));
  EXPECT_EQ(LinesOf(path_).size(), 20u) << "no line is lost";
  // Once the obstacle is gone, the next line begins a new file.
  ASSERT_EQ(rmdir(obstacle.c_str()), 0);
  {
    auto log = AuditLog::Open(path_, {.file_bytes = 400, .files = 2});
    ASSERT_OK(log);
    (*log)->Write(Entry("job-20"));
  }
  EXPECT_EQ(LinesOf(path_).size(), 1u);
  EXPECT_EQ(LinesOf(obstacle).size(), 20u);
}

// RLIMIT_FSIZE plays the full disk: it cuts a write short, and refuses the next one.
TEST_F(AuditLogTest, ALineIsWrittenWholeOrNotAtAll) {
  {
    auto log = AuditLog::Open(path_);
    ASSERT_OK(log);
    for (int i = 0; i < 10; ++i) (*log)->Write(Entry("job-1"));
  }
  struct stat info;
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  signal(SIGXFSZ, SIG_IGN);
  rlimit unlimited;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  const rlimit full = {static_cast<rlim_t>(info.st_size) + 50, unlimited.rlim_max};
  ::testing::internal::CaptureStderr();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  {
    auto log = AuditLog::Open(path_);
    ASSERT_OK(log);
    (*log)->Write(Entry("job-2"));
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("File too large"));
  const auto size = info.st_size;
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_size, size);
  {
    auto log = AuditLog::Open(path_);
    ASSERT_OK(log);
    (*log)->Write(Entry("job-3"));
  }
  const std::vector<std::string> lines = LinesOf(path_);
  ASSERT_EQ(lines.size(), 11u);
  EXPECT_THAT(lines.back(), HasSubstr("job-3"));
}

TEST_F(AuditLogTest, RefusalsAreThrottled) {
  {
    auto log = AuditLog::Open(path_);
    ASSERT_OK(log);
    for (int i = 0; i < 1000; ++i) (*log)->WriteRefusal(Entry("CancelJob"));
  }
  // A slow machine may reach the second second.
  EXPECT_LT(LinesOf(path_).size(), 100u);
  EXPECT_GE(LinesOf(path_).size(), 1u);
}

TEST_F(AuditLogTest, RefusalsHideNoCut) {
  {
    auto log = AuditLog::Open(path_);
    ASSERT_OK(log);
    for (int i = 0; i < 10; ++i) (*log)->WriteRefusal(Entry("CancelJob"));
    for (int i = 0; i < 10; ++i) (*log)->WriteCut(Entry("connection"));
  }
  EXPECT_THAT(LinesOf(path_), ::testing::Contains(HasSubstr("\"connection\"")));
}

}  // namespace
}  // namespace accel::coordinator
