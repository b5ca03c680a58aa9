// A store in an SQLite file. Its rows survive the end of the process, a loss of power, and
// a full disk.
//
// A separate thread writes, because a commit waits for the disk. The loop gives it one batch at a
// time and continues to take events. All changes that arrive in the meantime form the next batch.
// The number of commits therefore does not grow with the number of submits (docs/decisions/0031).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "coordinator/store/sqlite_file.h"
#include "coordinator/store/store.h"

namespace accel::coordinator {

class SqliteStore final : public Store {
 public:
  // Opens the file, and creates it if there is none. Errors are those of SqliteFile::Open().
  static absl::StatusOr<std::unique_ptr<SqliteStore>> Open(const std::string& path);

  // Waits for the commit in progress.
  ~SqliteStore() override;

  absl::StatusOr<std::vector<Row>> Load() override;

  // Stores a batch on the thread. If a write failed, the next commit opens the file again, because
  // the kernel may have dropped pages after a failed fsync. A full disk is an exception.
  void Commit(RowBatch batch, absl::AnyInvocable<void(absl::Status)> done) override;

 private:
  SqliteStore(std::string path, std::unique_ptr<SqliteFile> file);

  void Run();
  absl::Status Write(const RowBatch& batch);

  const std::string path_;
  std::unique_ptr<SqliteFile> file_;  // Null after an error. Used by one thread at a time.
  absl::Mutex mutex_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  absl::AnyInvocable<void()> commit_ ABSL_GUARDED_BY(mutex_);  // The next commit, or null.
  std::thread thread_;
};

}  // namespace accel::coordinator
