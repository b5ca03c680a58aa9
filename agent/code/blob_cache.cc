#include "agent/code/blob_cache.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "security/sha256.h"

namespace accel::agent {
namespace {

// The size of a manifest is not known before it arrives.
constexpr int64_t kUnknown = -1;

absl::StatusOr<std::string> ReadManifest(int file) {
  std::string text(upload::kMaxManifestBytes + 1, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = read(file, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::ErrnoToStatus(errno, "cannot read the cache of uploads");
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  text.resize(size);
  return text;
}

absl::Status SomethingElse() {
  return absl::DataLossError("the coordinator sent other files than those that were asked for");
}

}  // namespace

absl::StatusOr<upload::Tree> BlobCache::FetchTree(const common::JobId& job, const std::string& name,
                                                  absl::Time now, const HoldReader& hold) {
  absl::StatusOr<common::UniqueFd> file = folder_.OpenBlob(name);
  if (absl::IsNotFound(file.status())) {
    ACCEL_RETURN_IF_ERROR(Fetch(job, {name}, {kUnknown}, now, hold));
    file = folder_.OpenBlob(name);
  }
  ACCEL_RETURN_IF_ERROR(file.status());
  ACCEL_ASSIGN_OR_RETURN(const std::string manifest, ReadManifest(file->get()));
  if (absl::BytesToHexString(security::Sha256(manifest)) != name) {
    folder_.Remove(name);
    return absl::DataLossError("this node's copy of the list of files is damaged; it is removed");
  }
  return upload::ParseManifest(manifest);
}

absl::Status BlobCache::FetchBlobs(const common::JobId& job, const upload::Tree& tree,
                                   absl::Time now, const HoldReader& hold) {
  absl::flat_hash_set<absl::string_view> seen;
  std::vector<std::string> hashes;
  std::vector<int64_t> sizes;
  for (const upload::TreeEntry& entry : tree) {
    if (entry.is_link() || !seen.insert(entry.sha256).second) continue;
    if (Use(entry, now)) continue;
    hashes.push_back(entry.sha256);
    sizes.push_back(entry.size);
  }
  return hashes.empty() ? absl::OkStatus() : Fetch(job, hashes, sizes, now, hold);
}

bool BlobCache::Use(const upload::TreeEntry& entry, absl::Time now) {
  // No other thread may touch the blob between the two stamps, because its change would be missed.
  absl::MutexLock lock(&mutex_);
  const std::optional<upload::BlobStamp> before = folder_.StampOf(entry.sha256);
  if (!before.has_value() || before->size != entry.size) return false;
  const absl::Duration unused = now - absl::FromUnixNanos(before->modified_ns);
  if (unused >= absl::ZeroDuration() && unused < kUsePause) return true;
  folder_.Touch(entry.sha256, now);
  const std::optional<upload::BlobStamp> after = folder_.StampOf(entry.sha256);
  if (after.has_value()) verified_.Restamp(entry.sha256, *before, *after);
  return true;
}

absl::Status BlobCache::Fetch(const common::JobId& job, const std::vector<std::string>& hashes,
                              const std::vector<int64_t>& sizes, absl::Time now,
                              const HoldReader& hold) {
  const std::shared_ptr<BlobReader> reader = source_->Get(job, hashes);
  if (!hold(reader)) return absl::CancelledError("the job no longer needs it");
  size_t next = 0;
  std::vector<std::unique_ptr<upload::BlobWriter>> arriving;  // At most one.
  absl::Status failed;
  v1::BlobChunk chunk;
  const auto take = [&]() -> absl::Status {
    if (arriving.empty()) {
      if (next == hashes.size() || chunk.sha256() != hashes[next]) return SomethingElse();
      const int64_t size = chunk.size();
      const bool fits = sizes[next] == kUnknown
                            ? size >= 0 && size <= static_cast<int64_t>(upload::kMaxManifestBytes)
                            : size == sizes[next];
      if (!fits) return SomethingElse();
      ACCEL_ASSIGN_OR_RETURN(arriving.emplace_back(), folder_.Begin(hashes[next++], size));
    }
    ACCEL_RETURN_IF_ERROR(arriving[0]->Append(chunk.data()));
    if (!arriving[0]->is_whole()) return absl::OkStatus();
    // The blob is not synced, because each process compares a blob with its hash before
    // the first use.
    ACCEL_RETURN_IF_ERROR(folder_.Keep(arriving, upload::Durability::kNone));
    const std::string& sha256 = arriving[0]->sha256();
    absl::MutexLock lock(&mutex_);
    if (const auto stamp = folder_.StampOf(sha256)) verified_.Note(sha256, *stamp, now);
    arriving.clear();
    return absl::OkStatus();
  };
  while (failed.ok() && reader->Read(&chunk)) failed = take();
  if (!failed.ok()) {
    reader->Cancel();
    while (reader->Read(&chunk)) continue;
  }
  const absl::Status ended = reader->Finish();
  if (!hold(nullptr)) return absl::CancelledError("the job no longer needs it");
  if (!failed.ok()) return failed;
  ACCEL_RETURN_IF_ERROR(ended);
  return next == hashes.size() && arriving.empty() ? absl::OkStatus() : SomethingElse();
}

absl::StatusOr<CachedBlob> BlobCache::OpenBlob(const std::string& sha256, absl::Time now) const {
  CachedBlob blob;
  ACCEL_ASSIGN_OR_RETURN(blob.file, folder_.OpenBlob(sha256));
  absl::MutexLock lock(&mutex_);
  const std::optional<upload::BlobStamp> stamp = upload::BlobFolder::StampOf(blob.file);
  if (!stamp.has_value()) return absl::UnavailableError("cannot read the cache of uploads");
  blob.stamp = *stamp;
  blob.is_verified = verified_.Has(sha256, *stamp, now);
  return blob;
}

void BlobCache::NoteHash(const std::string& sha256, const CachedBlob& blob, bool is_right,
                         absl::Time now) {
  absl::MutexLock lock(&mutex_);
  // The stamp is from before the first byte was read, so a change since then is noticed.
  if (is_right) return verified_.Note(sha256, blob.stamp, now);
  verified_.Forget(sha256);
  folder_.Remove(sha256);
}

void BlobCache::Shrink(int64_t max_bytes) const {
  std::vector<upload::BlobFile> blobs = folder_.List();
  int64_t bytes = 0;
  for (const upload::BlobFile& blob : blobs) bytes += blob.size;
  std::sort(blobs.begin(), blobs.end(),
            [](const auto& a, const auto& b) { return a.used < b.used; });
  for (const upload::BlobFile& blob : blobs) {
    if (bytes <= max_bytes) return;
    folder_.Remove(blob.sha256);
    bytes -= blob.size;
  }
}

}  // namespace accel::agent
