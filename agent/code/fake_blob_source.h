// A BlobSource without a coordinator, for tests.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "agent/code/blob_source.h"
#include "common/ids.h"

namespace accel::agent {

// What the fake coordinator has, and what was asked of it.
struct FakeBlobs {
  std::map<std::string, std::string> blobs;
  std::vector<std::string> asked;
  bool hangs = false;  // Streams send nothing until they are cancelled.
  absl::Notification is_hanging;
};

class FakeReader final : public BlobReader {
 public:
  FakeReader(FakeBlobs* from, std::vector<std::string> hashes)
      : from_(*from), hashes_(hashes.begin(), hashes.end()) {}

  bool Read(v1::BlobChunk* chunk) override {
    if (from_.hangs) {
      from_.is_hanging.Notify();
      cancelled_.WaitForNotification();
      return false;
    }
    if (hashes_.empty() || !from_.blobs.contains(hashes_[0])) return false;
    chunk->set_sha256(hashes_[0]);
    chunk->set_data(from_.blobs.at(hashes_[0]));
    chunk->set_size(static_cast<int64_t>(chunk->data().size()));
    hashes_.pop_front();
    return true;
  }
  absl::Status Finish() override {
    if (cancelled_.HasBeenNotified()) return absl::CancelledError();
    return hashes_.empty() ? absl::OkStatus() : absl::NotFoundError("there is no job j1");
  }
  void Cancel() override {
    if (!cancelled_.HasBeenNotified()) cancelled_.Notify();
  }

 private:
  FakeBlobs& from_;
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
