#include "coordinator/access/audit_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "common/log.h"

namespace accel::coordinator {
namespace {

common::UniqueFd OpenFile(const std::string& path) {
  return common::UniqueFd(
      open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
}

// Appends the line, or leaves the file as it was. Returns 0 or the errno. The line is one write(),
// so that a crash leaves no part of it, unless the disk cuts the write short.
int AppendWhole(absl::string_view line, int fd) {
  struct stat before;
  if (fstat(fd, &before) != 0) return errno;
  while (!line.empty()) {
    const ssize_t written = write(fd, line.data(), line.size());
    if (written > 0) {
      line.remove_prefix(static_cast<size_t>(written));
    } else if (written == 0 || errno != EINTR) {
      const int error = written == 0 ? ENOSPC : errno;
      // Best effort: a part that cannot be cut off makes the next line unreadable too.
      std::ignore = ftruncate(fd, before.st_size);
      return error;
    }
  }
  return 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(const std::string& path,
                                                         AuditLimits limits) {
  common::UniqueFd fd = OpenFile(path);
  if (!fd.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  return std::unique_ptr<AuditLog>(new AuditLog(path, limits, std::move(fd)));
}

AuditLog::AuditLog(std::string path, AuditLimits limits, common::UniqueFd fd)
    : path_(std::move(path)), limits_(limits), fd_(std::move(fd)) {
  struct stat info;
  if (fstat(fd_.get(), &info) == 0) bytes_ = info.st_size;
  thread_ = std::thread([this] { Run(); });
}

AuditLog::~AuditLog() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void AuditLog::Write(const AuditEntry& entry) {
  std::string line = AuditLine(entry, absl::Now());
  absl::MutexLock lock(&mutex_);
  if (waiting_.size() >= limits_.waiting) {
    ++dropped_;
  } else {
    waiting_.push_back(std::move(line));
  }
}

void AuditLog::WriteRefusal(AuditEntry entry) {
  WriteSome(std::move(entry), "refusals", &refusals_);
}

void AuditLog::WriteCut(AuditEntry entry) { WriteSome(std::move(entry), "connections", &cuts_); }

void AuditLog::WriteSome(AuditEntry entry, absl::string_view kind, common::LogThrottle* throttle) {
  std::optional<int64_t> others;
  {
    absl::MutexLock lock(&mutex_);
    others = throttle->Admit(common::SteadyClock()->Now());
  }
  if (!others.has_value()) return;
  if (*others > 0) absl::StrAppend(&entry.object, " (and ", *others, " other ", kind, ")");
  Write(entry);
}

void AuditLog::Run() {
  const auto due = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !waiting_.empty();
  };
  while (true) {
    std::deque<std::string> lines;
    int64_t dropped = 0;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(&due));
      if (waiting_.empty()) return;
      lines.swap(waiting_);
      dropped = std::exchange(dropped_, 0);
    }
    for (const std::string& line : lines) Append(line);
    if (dropped > 0) {
      AuditEntry entry;
      entry.is_known = false;
      entry.action = "drop";
      entry.object = absl::StrCat(dropped, " lines, because the disk was too slow");
      Append(AuditLine(entry, absl::Now()));
    }
  }
}

void AuditLog::Append(const std::string& line) {
  if (bytes_ + static_cast<int64_t>(line.size()) > limits_.file_bytes) Rotate();
  const int error = AppendWhole(line, fd_.get());
  if (error == 0) {
    bytes_ += static_cast<int64_t>(line.size());
    return;
  }
  if (!failures_.Admit(common::SteadyClock()->Now()).has_value()) return;
  common::LogError("cannot write the audit log", {{"file", path_}, {"why", std::strerror(error)}});
}

// Renames the files and begins a new one. If a step fails, the log continues in the present file,
// and the next line tries again.
void AuditLog::Rotate() {
  for (int i = limits_.files - 1; i >= 1; --i) {
    const std::string from = i == 1 ? path_ : absl::StrCat(path_, ".", i - 1);
    const std::string to = absl::StrCat(path_, ".", i);
    if (rename(from.c_str(), to.c_str()) == 0 || errno == ENOENT) continue;
    const int error = errno;
    if (!failures_.Admit(common::SteadyClock()->Now()).has_value()) return;
    common::LogError(
        "cannot rename a file of the audit log, so the newest file grows beyond its bound",
        {{"file", from}, {"to", to}, {"why", std::strerror(error)}});
    return;
  }
  common::UniqueFd next = OpenFile(path_);
  if (!next.valid()) return;
  fd_ = std::move(next);
  bytes_ = 0;
}

}  // namespace accel::coordinator
