#include "agent/code/sync_code.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/state/job_folder.h"
#include "common/log.h"
#include "common/unique_fd.h"

namespace accel::agent {

namespace fs = std::filesystem;

CodeSync::CodeSync(std::string jobs_dir, std::string boot_id, absl::Duration pause)
    : jobs_dir_(std::move(jobs_dir)), boot_id_(std::move(boot_id)), pause_(pause) {
  // Called before this agent places any folder, so that it finds only those of earlier agents.
  AddUnsynced();
  thread_ = std::thread([this] { Run(); });
}

CodeSync::~CodeSync() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void CodeSync::Add(const common::JobId& job) {
  absl::MutexLock lock(&mutex_);
  pending_.insert(job);
}

void CodeSync::AddUnsynced() {
  std::error_code error;
  for (fs::directory_iterator entry(jobs_dir_, error), end; !error && entry != end;
       entry.increment(error)) {
    const common::JobId job(entry->path().filename().string());
    const auto place = PlaceOf(job);
    if (place.has_value() && FindUnsyncedCode(*place).has_value()) Add(job);
  }
}

void CodeSync::Run() {
  while (true) {
    const std::set<common::JobId> batch = Await();
    if (batch.empty()) return;
    // Marks are found before the sync, because a folder that is placed again during the sync
    // needs another sync.
    std::vector<std::pair<CodePlace, CodeMark>> marks;
    for (const common::JobId& job : batch) {
      const auto place = PlaceOf(job);
      const auto mark = place.has_value() ? FindUnsyncedCode(*place) : std::nullopt;
      if (mark.has_value()) marks.emplace_back(*place, *mark);
    }
    const absl::Status synced = Sync();
    if (!synced.ok()) {
      common::LogWarning(
          "cannot write uploads of jobs to the disk; after a loss of power they are placed again",
          {{"why", synced.ToString()}});
    }
    for (const auto& [place, mark] : marks) {
      synced.ok() ? MarkCodeSynced(place, mark) : MarkCodeFailed(place);
    }
  }
}

std::set<common::JobId> CodeSync::Await() {
  const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !pending_.empty();
  };
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&has_work));
  // The next agent continues with what is left.
  if (mutex_.AwaitWithTimeout(absl::Condition(&stopping_), pause_)) return {};
  return std::exchange(pending_, {});
}

absl::Status CodeSync::Sync() const {
  // One call writes all files of all jobs.
  const common::UniqueFd folder(open(jobs_dir_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.valid() && syncfs(folder.get()) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot sync the file system of ", jobs_dir_));
}

std::optional<CodePlace> CodeSync::PlaceOf(const common::JobId& job) const {
  const auto owner = OwnerOfJobFolder(jobs_dir_, job);
  if (!owner.has_value()) return std::nullopt;
  return CodePlace{jobs_dir_, boot_id_, job, owner};
}

}  // namespace accel::agent
