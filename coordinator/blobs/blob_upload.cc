// The part of the store that takes blobs in.
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/log.h"
#include "common/status_macros.h"
#include "coordinator/blobs/blob_store.h"
#include "upload/core/tree.h"

namespace accel::coordinator {
namespace {

// Whole blobs get their names when there are this many, because one sync of the disk serves all of
// them, and one for each would take most of the time of an upload.
constexpr int64_t kBatchBytes = int64_t{64} << 20;
constexpr size_t kBatchBlobs = 512;

}  // namespace

BlobUpload::~BlobUpload() {
  if (arriving_ != nullptr) GiveBack(arriving_->size(), 1);
  const absl::Status kept = KeepWhole();
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
  return KeepWhole();
}

absl::Status BlobUpload::End() {
  if (arriving_ != nullptr) {
    return absl::InvalidArgumentError("data: the stream ended within a blob");
  }
  return KeepWhole();
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

absl::Status BlobUpload::KeepWhole() {
  const auto blobs = std::exchange(whole_, {});
  whole_bytes_ = 0;
  // Those that are there already, or come twice, are counted once.
  int64_t known = 0, known_bytes = 0;
  std::set<std::string> seen;
  for (const auto& blob : blobs) {
    if (seen.insert(blob->sha256()).second && !user_.files.Has(blob->sha256(), blob->size())) {
      continue;
    }
    ++known;
    known_bytes += blob->size();
  }
  GiveBack(known_bytes, known);
  return user_.files.Keep(blobs, /*durable=*/true);
}

void BlobUpload::GiveBack(int64_t bytes, int64_t blobs) {
  absl::MutexLock lock(&user_.mutex);
  user_.bytes -= bytes;
  user_.blobs -= blobs;
}

}  // namespace accel::coordinator
