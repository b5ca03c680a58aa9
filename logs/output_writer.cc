#include "logs/output_writer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/clock.h"
#include "common/wake_fd.h"
#include "logs/core/output_queue.h"
#include "logs/stream_writer.h"

namespace accel::logs {

struct OutputWriter::Shared {
  explicit Shared(Options options)
      : write_timeout(options.write_timeout), queue(options.max_bytes) {}

  // Returns true if the current write takes longer than `write_timeout`.
  bool Hangs() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return busy_since.has_value() && common::SteadyClock()->Now() >= *busy_since + write_timeout;
  }

  // The next task of the writing thread: to write a batch, or the bytes that `file` has held back.
  struct Task {
    StreamWriter* file = nullptr;
    std::optional<OutputQueue::Batch> batch;
  };
  // Blocks until there is a task. Returns nullopt if the thread must end.
  std::optional<Task> Await() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // Returns a writer that must be flushed by now, or null. Updates next_due.
  StreamWriter* FindDue(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  const absl::Duration write_timeout;
  common::WakeFd wake;
  mutable absl::Mutex mutex;
  absl::CondVar work;
  OutputQueue queue ABSL_GUARDED_BY(mutex);
  // Keyed by stream. Only the writing thread uses or erases the writers, so it may use one without
  // holding the mutex.
  std::map<int, std::unique_ptr<StreamWriter>> files ABSL_GUARDED_BY(mutex);
  // No writer is due before this time.
  absl::Time next_due ABSL_GUARDED_BY(mutex) = absl::InfiniteFuture();
  std::optional<absl::Time> busy_since ABSL_GUARDED_BY(mutex);
  bool is_awaited ABSL_GUARDED_BY(mutex) = false;
  bool ending ABSL_GUARDED_BY(mutex) = false;
};

OutputWriter::OutputWriter() : OutputWriter(Options()) {}

OutputWriter::OutputWriter(Options options) : shared_(std::make_shared<Shared>(options)) {
  std::thread([shared = shared_] { Run(shared); }).detach();
}

OutputWriter::~OutputWriter() {
  absl::MutexLock lock(&shared_->mutex);
  shared_->ending = true;
  shared_->work.Signal();
}

StreamWriter* OutputWriter::Shared::FindDue(absl::Time now) {
  if (now < next_due) return nullptr;
  next_due = absl::InfiniteFuture();
  for (const auto& [stream, file] : files) {
    if (file->due() <= now && file->due() < absl::InfiniteFuture()) {
      next_due = absl::InfinitePast();  // Other writers may be due too.
      return file.get();
    }
    next_due = std::min(next_due, file->due());
  }
  return nullptr;
}

std::optional<OutputWriter::Shared::Task> OutputWriter::Shared::Await() {
  while (true) {
    const absl::Time now = common::SteadyClock()->Now();
    // Writers that are due come first, because other streams may always have bytes to write.
    Task task = {FindDue(now), std::nullopt};
    if (task.file != nullptr) return task;
    task.batch = queue.Take();
    if (task.batch.has_value()) {
      task.file = files.at(task.batch->stream).get();
      return task;
    }
    if (ending) {
      task.file = FindDue(absl::InfiniteFuture());
      if (task.file == nullptr) return std::nullopt;
      return task;
    }
    work.WaitWithTimeout(&mutex, next_due - now);
  }
}

void OutputWriter::Run(const std::shared_ptr<Shared>& shared) {
  while (true) {
    std::optional<Shared::Task> task;
    common::Clock& clock = *common::SteadyClock();
    {
      absl::MutexLock lock(&shared->mutex);
      task = shared->Await();
      if (!task.has_value()) return;
      shared->busy_since = clock.Now();
      // A waiting caller must call WakeAt() again, which has returned InfiniteFuture so far.
      if (shared->is_awaited) shared->wake.Wake();
    }
    if (!task->batch.has_value()) {
      task->file->Flush(clock.Now());
    } else {
      const OutputQueue::Batch& batch = *task->batch;
      task->file->Write(batch.bytes, clock.Now());
      if (batch.dropped > 0) task->file->Drop(batch.dropped, clock.Now());
      if (batch.last) task->file->Finish(clock.Now());
    }
    absl::MutexLock lock(&shared->mutex);
    shared->busy_since.reset();
    shared->next_due = std::min(shared->next_due, task->file->due());
    if (task->batch.has_value()) {
      if (task->batch->last) shared->files.erase(task->batch->stream);
      shared->queue.Done(*std::move(task->batch));
    }
    if (std::exchange(shared->is_awaited, false)) shared->wake.Wake();
  }
}

int OutputWriter::Open(std::string rank_dir, LogStream stream, LogLimits limits,
                       std::string spill_dir) {
  absl::MutexLock lock(&shared_->mutex);
  const int id = shared_->queue.Open();
  shared_->files[id] =
      std::make_unique<StreamWriter>(std::move(rank_dir), stream, limits, std::move(spill_dir));
  return id;
}

OutputWriter::Room OutputWriter::room() {
  absl::MutexLock lock(&shared_->mutex);
  if (shared_->queue.has_room()) return Room::kFree;
  if (shared_->Hangs()) return Room::kDrop;
  shared_->is_awaited = true;
  return Room::kWait;
}

void OutputWriter::Add(int stream, absl::string_view bytes) {
  absl::MutexLock lock(&shared_->mutex);
  shared_->queue.Add(stream, bytes);
  shared_->work.Signal();
}

void OutputWriter::Drop(int stream, size_t size) {
  absl::MutexLock lock(&shared_->mutex);
  shared_->queue.Drop(stream, static_cast<int64_t>(size));
  shared_->work.Signal();
}

void OutputWriter::Close(int stream) {
  absl::MutexLock lock(&shared_->mutex);
  shared_->queue.Close(stream);
  shared_->work.Signal();
}

int64_t OutputWriter::received(int stream) const {
  absl::MutexLock lock(&shared_->mutex);
  return shared_->queue.received(stream);
}

bool OutputWriter::Handled(int stream, int64_t size) {
  absl::MutexLock lock(&shared_->mutex);
  if (shared_->queue.Handled(stream, size) || shared_->Hangs()) return true;
  shared_->is_awaited = true;
  return false;
}

int OutputWriter::wake_fd() const { return shared_->wake.get(); }

void OutputWriter::Clear() { shared_->wake.Clear(); }

absl::Time OutputWriter::WakeAt() {
  absl::MutexLock lock(&shared_->mutex);
  // A write that starts later signals wake_fd(), and the caller then asks again.
  if (!shared_->is_awaited || !shared_->busy_since.has_value()) return absl::InfiniteFuture();
  // If the time has passed, it is returned only once, because the caller would otherwise spin.
  if (shared_->Hangs()) shared_->is_awaited = false;
  return *shared_->busy_since + shared_->write_timeout;
}

size_t OutputWriter::unwritten() const {
  absl::MutexLock lock(&shared_->mutex);
  return shared_->queue.bytes();
}

}  // namespace accel::logs
