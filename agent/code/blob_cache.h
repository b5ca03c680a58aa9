// The blobs that this node has fetched, up to a size. Later jobs need only what has changed.
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

// Called by one fetch at a time with the reader that it must be able to cancel, and with null after
// its end. Returns false if the fetch must end.
using HoldReader = std::function<bool(std::shared_ptr<BlobReader>)>;

// A blob that has been fetched.
struct CachedBlob {
  common::UniqueFd file;
  upload::BlobStamp stamp;
  bool is_verified = false;  // Its bytes need not be compared with its hash again.
};

// Thread-safe. All calls block.
class BlobCache {
 public:
  static constexpr int64_t kMaxBytes = int64_t{10} << 30;
  // A use is not noted so soon after the last one, because each note writes to the disk.
  static constexpr absl::Duration kUsePause = absl::Minutes(10);

  // `folder` is this process's alone.
  BlobCache(upload::BlobFolder folder, std::unique_ptr<BlobSource> source)
      : folder_(std::move(folder)), source_(std::move(source)) {}

  // Returns the tree of a job, and fetches its manifest if it is not here.
  absl::StatusOr<upload::Tree> FetchTree(const common::JobId& job, const std::string& name,
                                         absl::Time now, const HoldReader& hold);
  // Fetches the blobs of the tree that are not here, and notes the use of the others, so that the
  // cache removes those first that are not used. CANCELLED: `hold` has returned false.
  // DATA_LOSS: the coordinator sends something else. Others: the file system's, and those of Get in
  // proto/blobs.proto.
  absl::Status FetchBlobs(const common::JobId& job, const upload::Tree& tree, absl::Time now,
                          const HoldReader& hold);

  // Opens a blob that has been fetched. NOT_FOUND: another fetch has taken its room.
  absl::StatusOr<CachedBlob> OpenBlob(const std::string& sha256, absl::Time now) const;
  // Notes whether the bytes of an open blob, all of which were read, have its hash. Removes the
  // blob if they have not.
  void NoteHash(const std::string& sha256, const CachedBlob& blob, bool is_right, absl::Time now);
  // Removes the blobs that have not been used for the longest time, until the rest has at most
  // `max_bytes`.
  void Shrink(int64_t max_bytes = kMaxBytes) const;

 private:
  absl::Status Fetch(const common::JobId& job, const std::vector<std::string>& hashes,
                     const std::vector<int64_t>& sizes, absl::Time now, const HoldReader& hold);
  // Notes the use of a blob. Returns false if it is not here.
  bool Use(const upload::TreeEntry& entry, absl::Time now);

  const upload::BlobFolder folder_;
  const std::unique_ptr<BlobSource> source_;
  mutable absl::Mutex mutex_;
  VerifiedBlobs verified_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace accel::agent
