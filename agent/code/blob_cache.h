// The blobs that this node has fetched, up to a total size. A later job fetches only the files
// that have changed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/code/blob_source.h"
#include "agent/code/verified_blobs.h"
#include "common/ids.h"
#include "common/unique_fd.h"
#include "upload/blob_folder.h"
#include "upload/core/tree.h"

namespace accel::agent {

// A callback of a fetch. The cache calls it with each new reader, so that another thread can cancel
// that reader, and with null once the reader has ended. Returns false if the fetch must end.
using HoldReader = std::function<bool(std::shared_ptr<BlobReader>)>;

// A blob that has been fetched.
struct CachedBlob {
  common::UniqueFd file;
  upload::BlobStamp stamp;
  // Its bytes were compared with its hash and need not be compared again.
  bool is_verified = false;
};

// Thread-safe. All calls block.
class BlobCache {
 public:
  static constexpr int64_t kMaxBytes = int64_t{10} << 30;
  // Minimum time between two notes of a blob's use, because each note writes to the disk.
  static constexpr absl::Duration kUsePause = absl::Minutes(10);

  // No other process may use `folder`.
  BlobCache(upload::BlobFolder folder, std::unique_ptr<BlobSource> source)
      : folder_(std::move(folder)), source_(std::move(source)) {}

  // Returns the tree of a job. Fetches its manifest, whose hash is `name`, if it is not in the
  // cache. Errors are those of FetchBlobs(). INVALID_ARGUMENT: the manifest is malformed.
  absl::StatusOr<upload::Tree> FetchTree(const common::JobId& job, const std::string& name,
                                         absl::Time now, const HoldReader& hold);
  // Fetches the blobs of the tree that are not in the cache. Notes that the others are in use,
  // because Shrink() removes the least recently used blobs first. CANCELLED: `hold` has returned
  // false. DATA_LOSS: the coordinator sends other bytes than those that were asked for. Other
  // errors are those of the file system, and of Get in proto/blobs.proto.
  absl::Status FetchBlobs(const common::JobId& job, const upload::Tree& tree, absl::Time now,
                          const HoldReader& hold);

  // Opens a blob that has been fetched. NOT_FOUND: it was removed to make room for another fetch.
  absl::StatusOr<CachedBlob> OpenBlob(const std::string& sha256, absl::Time now) const;
  // Notes the result of comparing an open blob with its hash, after all its bytes were read. If not
  // `is_right`, removes the blob.
  void NoteHash(const std::string& sha256, const CachedBlob& blob, bool is_right, absl::Time now);
  // Removes the least recently used blobs until the rest has at most `max_bytes`.
  void Shrink(int64_t max_bytes = kMaxBytes) const;

 private:
  absl::Status Fetch(const common::JobId& job, const std::vector<std::string>& hashes,
                     const std::vector<int64_t>& sizes, absl::Time now, const HoldReader& hold);
  // Notes the use of a blob. Returns false if the cache does not have it.
  bool Use(const upload::TreeEntry& entry, absl::Time now);

  const upload::BlobFolder folder_;
  const std::unique_ptr<BlobSource> source_;
  mutable absl::Mutex mutex_;
  VerifiedBlobs verified_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace accel::agent
