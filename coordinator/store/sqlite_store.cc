#include "coordinator/store/sqlite_store.h"

#include <utility>

#include "common/check.h"
#include "common/status_macros.h"

namespace accel::coordinator {

absl::StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& path) {
  ACCEL_ASSIGN_OR_RETURN(std::unique_ptr<SqliteFile> file,
                         SqliteFile::Open(path, SqliteFile::Missing::kCreate));
  return std::unique_ptr<SqliteStore>(new SqliteStore(path, std::move(file)));
}

SqliteStore::SqliteStore(std::string path, std::unique_ptr<SqliteFile> file)
    : path_(std::move(path)), file_(std::move(file)), thread_([this] { Run(); }) {}

SqliteStore::~SqliteStore() {
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
  }
  thread_.join();
}

absl::StatusOr<std::vector<Row>> SqliteStore::Load() { return file_->Read(); }

void SqliteStore::Commit(RowBatch batch, absl::AnyInvocable<void(absl::Status)> done) {
  absl::MutexLock lock(&mutex_);
  ACCEL_CHECK(commit_ == nullptr, "Store: at most one commit is in progress");
  commit_ = [this, batch = std::move(batch), done = std::move(done)]() mutable {
    done(Write(batch));
  };
}

void SqliteStore::Run() {
  while (true) {
    absl::AnyInvocable<void()> commit;
    {
      absl::MutexLock lock(&mutex_);
      const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return ending_ || commit_ != nullptr;
      };
      mutex_.Await(absl::Condition(&has_work));
      if (commit_ == nullptr) return;
      commit = std::exchange(commit_, nullptr);
    }
    commit();
  }
}

absl::Status SqliteStore::Write(const RowBatch& batch) {
  if (file_ == nullptr) {
    ACCEL_ASSIGN_OR_RETURN(file_, SqliteFile::Open(path_, SqliteFile::Missing::kIsAnError));
  }
  absl::Status status = file_->Write(batch);
  if (!status.ok() && !absl::IsResourceExhausted(status)) file_.reset();
  return status;
}

}  // namespace accel::coordinator
