#include "logs/output_writer.h"

#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/clock.h"
#include "common/wake_fd.h"
#include "logs/core/output_queue.h"
#include "logs/segment_writer.h"

namespace accel::logs {

struct OutputWriter::Shared {
  explicit Shared(Options options)
      : write_timeout(options.write_timeout), queue(options.max_bytes) {}

  // Returns true if the current write takes longer than `write_timeout`.
  bool Hangs() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return busy_since.has_value() && common::SteadyClock()->Now() >= *busy_since + write_timeout;
  }

  const absl::Duration write_timeout;
  common::WakeFd wake;
  mutable absl::Mutex mutex;
  absl::CondVar work;
  OutputQueue queue ABSL_GUARDED_BY(mutex);
  // Keyed by stream. Only the writing thread uses or erases the writers, so it may use one without
  // holding the mutex.
  std::map<int, std::unique_ptr<SegmentWriter>> files ABSL_GUARDED_BY(mutex);
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

void OutputWriter::Run(const std::shared_ptr<Shared>& shared) {
  while (true) {
    OutputQueue::Batch batch;
    SegmentWriter* file = nullptr;
    {
      absl::MutexLock lock(&shared->mutex);
      std::optional<OutputQueue::Batch> next = shared->queue.Take();
      while (!next.has_value()) {
        if (shared->ending) return;
        shared->work.Wait(&shared->mutex);
        next = shared->queue.Take();
      }
      batch = *std::move(next);
      file = shared->files.at(batch.stream).get();
      shared->busy_since = common::SteadyClock()->Now();
      // WakeAt() has a time to return only from now on.
      if (shared->is_awaited) shared->wake.Wake();
    }
    file->Write(batch.bytes);
    if (batch.dropped > 0) file->Drop(batch.dropped);
    if (batch.last) file->Finish();
    absl::MutexLock lock(&shared->mutex);
    shared->busy_since.reset();
    if (batch.last) shared->files.erase(batch.stream);
    shared->queue.Done(std::move(batch));
    if (std::exchange(shared->is_awaited, false)) shared->wake.Wake();
  }
}

int OutputWriter::Open(std::string rank_dir, LogStream stream, LogLimits limits,
                       std::string spill_dir) {
  absl::MutexLock lock(&shared_->mutex);
  const int id = shared_->queue.Open();
  shared_->files[id] =
      std::make_unique<SegmentWriter>(std::move(rank_dir), stream, limits, std::move(spill_dir));
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
  // The caller may have been told to wait just before the time that has now passed. Clearing the
  // flag returns this time once only, so that the caller does not spin.
  if (shared_->Hangs()) shared_->is_awaited = false;
  return *shared_->busy_since + shared_->write_timeout;
}

size_t OutputWriter::unwritten() const {
  absl::MutexLock lock(&shared_->mutex);
  return shared_->queue.bytes();
}

}  // namespace accel::logs
