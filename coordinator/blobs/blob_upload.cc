// The part of the blob store that receives blobs.
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "common/log.h"
#include "common/status_macros.h"
#include "coordinator/blobs/blob_store.h"
#include "upload/core/tree.h"

namespace accel::coordinator {
namespace {

// Complete blobs are stored when there are this many bytes or blobs. One sync of the disk serves
// the whole batch. A sync for each blob would take most of the time of an upload.
constexpr int64_t kBatchBytes = int64_t{64} << 20;
constexpr size_t kBatchBlobs = 512;

}  // namespace

struct BlobUpload::Keeping {
  std::vector<std::unique_ptr<upload::BlobWriter>> blobs;
  absl::Notification ended;
  absl::Status status;  // Set before `ended`.
};

BlobUpload::BlobUpload(const BlobStore& store, BlobStore::User* user)
    : store_(store), user_(*user) {}

BlobUpload::~BlobUpload() {
  if (arriving_ != nullptr) GiveBack(arriving_->size(), 1);
  const absl::Status kept = KeepAll();
  if (!kept.ok()) common::LogWarning("cannot keep uploaded files", {{"why", kept.ToString()}});
  absl::MutexLock lock(&user_.mutex);
  --user_.uploads;
}

absl::Status BlobUpload::Take(const std::string& sha256, int64_t size, absl::string_view data) {
  if (data.size() > upload::kMaxChunkBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("data: has ", data.size(), " bytes; at most ", upload::kMaxChunkBytes));
  }
  if (!sha256.empty()) ACCEL_RETURN_IF_ERROR(Begin(sha256, size));
  if (arriving_ == nullptr) return absl::InvalidArgumentError("data: it belongs to no blob");
  ACCEL_RETURN_IF_ERROR(arriving_->Append(data));
  if (!arriving_->is_whole()) return absl::OkStatus();
  whole_bytes_ += arriving_->size();
  whole_.push_back(std::move(arriving_));
  if (whole_bytes_ < kBatchBytes && whole_.size() < kBatchBlobs) return absl::OkStatus();
  return BeginToKeep(upload::Durability::kBytes);
}

absl::Status BlobUpload::End() {
  if (arriving_ != nullptr) {
    return absl::InvalidArgumentError("data: the stream ended within a blob");
  }
  return KeepAll();
}

absl::Status BlobUpload::Begin(const std::string& sha256, int64_t size) {
  if (arriving_ != nullptr) {
    return absl::InvalidArgumentError("sha256: the blob before is not whole");
  }
  if (!upload::IsSha256(sha256)) {
    return absl::InvalidArgumentError("sha256: must be 64 hexadecimal digits");
  }
  if (size < 0 || size > upload::kMaxTreeBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("size: must be 0 to ", upload::kMaxTreeBytes, ", not ", size));
  }
  absl::MutexLock lock(&user_.mutex);
  ACCEL_RETURN_IF_ERROR(store_.CheckRoom(user_, size, 1));
  ACCEL_ASSIGN_OR_RETURN(arriving_, user_.files.Begin(sha256, size));
  user_.bytes += size;
  ++user_.blobs;
  return absl::OkStatus();
}

absl::Status BlobUpload::BeginToKeep(upload::Durability durability) {
  const absl::Status before = AwaitKept();
  keeping_ = std::make_unique<Keeping>();
  keeping_->blobs = std::exchange(whole_, {});
  whole_bytes_ = 0;
  names_are_on_disk_ = durability == upload::Durability::kNames;
  store_.disk_->Post([this, keeping = keeping_.get(), durability] {
    keeping->status = Keep(keeping->blobs, durability);
    keeping->ended.Notify();
  });
  return before;
}

absl::Status BlobUpload::AwaitKept() {
  const std::unique_ptr<Keeping> keeping = std::exchange(keeping_, nullptr);
  if (keeping == nullptr) return absl::OkStatus();
  keeping->ended.WaitForNotification();
  return keeping->status;
}

absl::Status BlobUpload::KeepAll() {
  absl::Status kept;
  if (!whole_.empty() || !names_are_on_disk_) kept = BeginToKeep(upload::Durability::kNames);
  kept.Update(AwaitKept());
  return kept;
}

absl::Status BlobUpload::Keep(const std::vector<std::unique_ptr<upload::BlobWriter>>& blobs,
                              upload::Durability durability) {
  // Blobs that already exist, or occur twice, are counted only once.
  std::map<std::string, int64_t> added;  // The sizes of new blobs, by hash.
  for (const auto& blob : blobs) {
    const bool is_new = !user_.files.Has(blob->sha256(), blob->size()) &&
                        added.try_emplace(blob->sha256(), blob->size()).second;
    if (!is_new) GiveBack(blob->size(), 1);
  }
  const absl::Status kept = user_.files.Keep(blobs, durability);
  if (kept.ok()) return kept;
  for (const auto& [sha256, size] : added) {
    if (!user_.files.Has(sha256, size)) GiveBack(size, 1);
  }
  return kept;
}

void BlobUpload::GiveBack(int64_t bytes, int64_t blobs) {
  absl::MutexLock lock(&user_.mutex);
  user_.bytes -= bytes;
  user_.blobs -= blobs;
}

}  // namespace accel::coordinator
