// The append-only log of what callers did. A separate thread writes it, because a disk that hangs
// must not block calls. If the disk is too slow, lines are dropped, and a line with their
// number is written.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "common/clock.h"
#include "common/log_throttle.h"
#include "common/unique_fd.h"
#include "coordinator/access/audit_line.h"

namespace accel::coordinator {

struct AuditLimits {
  int64_t file_bytes = int64_t{64} << 20;
  int files = 4;            // Including the one being written. The oldest is dropped.
  size_t waiting = 10'000;  // Maximum number of lines not written yet.
};

// Thread-safe.
class AuditLog {
 public:
  // Opens the log at `path` for appending. The file is created with mode 0600 if it does not exist.
  // Older files are PATH.1, which is the newest of them, PATH.2 and so on. Errors have the code of
  // the errno of open().
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(const std::string& path,
                                                        AuditLimits limits = {});
  ~AuditLog();  // Writes the pending lines first.

  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  // Adds an entry. Does not block on the disk. Drops the entry if too many lines are pending.
  void Write(const AuditEntry& entry);
  // Adds an entry about a refusal. Callers can cause any number of refusals, so at most one per
  // second is written, with the number of refusals that were left out.
  void WriteRefusal(AuditEntry entry);
  // Adds an entry about a connection that was cut. At most one per second is written, too. These
  // entries are counted apart from refusals, because a caller could otherwise hide its cut among
  // them.
  void WriteCut(AuditEntry entry);

 private:
  AuditLog(std::string path, AuditLimits limits, common::UniqueFd fd);

  // Writes the entry if its throttle, which mutex_ guards, admits it.
  void WriteSome(AuditEntry entry, absl::string_view kind, common::LogThrottle* throttle);
  void Run();
  void Append(const std::string& line);
  void Rotate();

  const std::string path_;
  const AuditLimits limits_;
  // Used only by the thread.
  common::UniqueFd fd_;
  int64_t bytes_ = 0;
  common::LogThrottle failures_{absl::Minutes(1)};

  absl::Mutex mutex_;
  std::deque<std::string> waiting_ ABSL_GUARDED_BY(mutex_);
  int64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;
  common::LogThrottle refusals_ ABSL_GUARDED_BY(mutex_){absl::Seconds(1)};
  common::LogThrottle cuts_ ABSL_GUARDED_BY(mutex_){absl::Seconds(1)};
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace accel::coordinator
