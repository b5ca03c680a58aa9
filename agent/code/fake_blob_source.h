// A BlobSource without a coordinator, for tests.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "agent/code/blob_source.h"
#include "common/ids.h"

namespace accel::agent {

// The blobs of the fake coordinator, and the hashes that were asked for.
struct FakeBlobs {
  std::map<std::string, std::string> blobs;
  std::vector<std::string> asked;
  // The number of further streams that break after their first blob, as if the
  // coordinator had died.
  int breaks = 0;
  std::atomic<bool> refuses = false;  // Streams break before their first blob.
  std::atomic<int> refused = 0;       // The number of streams that did.
  bool hangs = false;                 // Streams send nothing until they are cancelled.
  absl::Notification is_hanging;
};

class FakeReader final : public BlobReader {
 public:
  FakeReader(FakeBlobs* from, std::vector<std::string> hashes)
      : from_(*from),
        refuses_(from->refuses),
        breaks_(from->breaks > 0 && from->breaks-- > 0),
        hashes_(hashes.begin(), hashes.end()) {}

  bool Read(v1::BlobChunk* chunk) override {
    if (from_.hangs) {
      from_.is_hanging.Notify();
      cancelled_.WaitForNotification();
      return false;
    }
    if (refuses_) {
      ++from_.refused;
      return false;
    }
    if (breaks_ && std::exchange(sent_, true)) return false;
    if (hashes_.empty() || !from_.blobs.contains(hashes_[0])) return false;
    chunk->set_sha256(hashes_[0]);
    chunk->set_data(from_.blobs.at(hashes_[0]));
    chunk->set_size(static_cast<int64_t>(chunk->data().size()));
    hashes_.pop_front();
    return true;
  }
  absl::Status Finish() override {
    if (cancelled_.HasBeenNotified()) return absl::CancelledError();
    if (refuses_ || breaks_) return absl::UnavailableError("Socket closed");
    return hashes_.empty() ? absl::OkStatus() : absl::NotFoundError("there is no job j1");
  }
  void Cancel() override {
    if (!cancelled_.HasBeenNotified()) cancelled_.Notify();
  }

 private:
  FakeBlobs& from_;
  const bool refuses_;
  const bool breaks_;
  bool sent_ = false;
  std::deque<std::string> hashes_;
  absl::Notification cancelled_;
};

class FakeSource final : public BlobSource {
 public:
  explicit FakeSource(FakeBlobs* from) : from_(*from) {}

  std::unique_ptr<BlobReader> Get(const common::JobId&,
                                  const std::vector<std::string>& hashes) override {
    from_.asked.insert(from_.asked.end(), hashes.begin(), hashes.end());
    return std::make_unique<FakeReader>(&from_, hashes);
  }

 private:
  FakeBlobs& from_;
};

}  // namespace accel::agent
