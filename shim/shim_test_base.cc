#include "shim/shim_test_base.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/status_matchers.h"
#include "logs/log_reader.h"
#include "process/sweep.h"

namespace accel::shim {
namespace {

constexpr char kShimPath[] = "shim/accel-shim";
constexpr absl::Duration kPause = absl::Milliseconds(2);

std::string MakeFolder() {
  const char* base = getenv("TEST_TMPDIR");
  std::string folder = absl::StrCat(base == nullptr ? "/tmp" : base, "/shim.XXXXXX");
  return mkdtemp(folder.data()) == nullptr ? "" : folder;
}

bool HasInEnvironment(pid_t pid, const std::string& entry) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/environ"), std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str().find(entry) != std::string::npos;
}

}  // namespace

ShimTest::ShimTest(process::CgroupSupport cgroups) : folder_(MakeFolder()) {
  tag_ = absl::StrCat("ACCEL_SHIM_TEST=", folder_);
  process::BecomeSubreaper();
  PosixShimHost::Options options;
  options.cgroups = std::move(cgroups);
  MakeHost(std::move(options));
}

void ShimTest::MakeHost(PosixShimHost::Options options) {
  options.shim_path = kShimPath;
  host_ = std::make_unique<PosixShimHost>(std::move(options));
}

ShimTest::~ShimTest() {
  host_.reset();
  EXPECT_TRUE(Living().empty()) << "a process of the job has survived it";
  for (pid_t pid : Living()) kill(pid, SIGKILL);
}

StartCommand ShimTest::Script(const std::string& script, int workers) {
  return Command({"/bin/sh", "-c", script}, workers);
}

StartCommand ShimTest::Command(std::vector<std::string> argv, int workers) {
  StartCommand start;
  start.id = {common::JobId("job"), ++starts_};
  start.argv = std::move(argv);
  start.workdir = folder_;
  for (int rank = 0; rank < workers; ++rank) {
    start.workers.push_back(
        {rank, rank, {tag_, "PATH=/usr/bin:/bin", absl::StrCat("RANK=", rank)}});
  }
  start.log_dir = absl::StrCat(folder_, "/logs/", starts_);
  start.orphan_grace = kOrphanGrace;
  return start;
}

void ShimTest::Start(const StartCommand& start) {
  const absl::Status status = host_->StartShim(start.id.job);
  ASSERT_TRUE(status.ok() || absl::IsAlreadyExists(status)) << status;
  ASSERT_OK(host_->StartGeneration(start, common::UniqueFd()));
}

ShimReport ShimTest::Await(const common::JobId& job,
                           const std::function<bool(const ShimReport&)>& fits) {
  const absl::Time until = absl::Now() + kTimeout;
  while (absl::Now() < until) {
    for (ShimReport& report : host_->TakeReports()) last_[report.job] = std::move(report);
    const auto found = last_.find(job);
    if (found != last_.end() && fits(found->second)) return found->second;
    pollfd wake = {host_->wake_fd(), POLLIN, 0};
    poll(&wake, 1, 100);
  }
  ADD_FAILURE() << "no such report within " << kTimeout;
  return {};
}

GenerationReport ShimTest::AwaitState(const common::JobId& job, GenerationReport::State state) {
  const int newest = starts_;
  ShimReport report = Await(job, [&](const ShimReport& seen) {
    return seen.generation &&
           (seen.generation->id.job != common::JobId("job") ||
            seen.generation->id.generation == newest) &&
           seen.generation->state >= state;
  });
  return report.generation.value_or(GenerationReport());
}

GenerationReport ShimTest::RunToEnd(const StartCommand& start) {
  Start(start);
  return AwaitState(start.id.job, GenerationReport::State::kEnded);
}

void ShimTest::EndShim(const common::JobId& job) {
  host_->EndShim(job);
  Await(job, [](const ShimReport& report) { return report.shim_ended; });
  last_.erase(job);
}

std::string ShimTest::Output(const StartCommand& start, int rank, logs::LogStream stream) {
  logs::LogReader reader(logs::RankLogDir(start.log_dir, rank), stream);
  std::string text;
  char buffer[1 << 16];
  while (true) {
    const logs::LogReader::Piece piece = reader.Read(buffer, sizeof(buffer));
    if (piece.gap > 0) absl::StrAppend(&text, "#", piece.gap);
    text.append(buffer, piece.size);
    if (piece.size == 0) return text;
  }
}

void ShimTest::AwaitOutput(const StartCommand& start, int rank, const std::string& text) {
  const absl::Time until = absl::Now() + kTimeout;
  while (Output(start, rank).find(text) == std::string::npos) {
    ASSERT_LT(absl::Now(), until) << "rank " << rank << " has not printed " << text;
    absl::SleepFor(kPause);
  }
}

std::vector<pid_t> ShimTest::Living() const {
  std::vector<pid_t> living;
  for (const process::ProcessEntry& entry : process::ReadProcessTable()) {
    if (!entry.zombie() && HasInEnvironment(entry.pid, tag_)) living.push_back(entry.pid);
  }
  return living;
}

void ShimTest::AwaitLiving(size_t at_least) const {
  const absl::Time until = absl::Now() + kTimeout;
  while (Living().size() < at_least) {
    ASSERT_LT(absl::Now(), until) << Living().size() << " live instead of " << at_least;
    absl::SleepFor(kPause);
  }
}

void ShimTest::AwaitStopped(pid_t pid) const {
  const absl::Time until = absl::Now() + kTimeout;
  while (true) {
    const auto entry = process::ReadProcess(pid);
    if (entry && entry->state == 'T') return;
    ASSERT_LT(absl::Now(), until) << pid << " is not stopped";
    absl::SleepFor(kPause);
  }
}

pid_t OnlyShimPid() {
  pid_t shim = 0;
  for (const process::ProcessEntry& entry : process::ReadProcessTable()) {
    if (entry.parent != getpid() || entry.zombie()) continue;
    EXPECT_EQ(shim, 0) << "more than one child";
    shim = entry.pid;
  }
  return shim;
}

}  // namespace accel::shim
