// The blobs of a node's cache that this process has compared with their hashes. The next job need
// not read them again for this comparison (docs/decisions/0083).
#pragma once

#include <cstddef>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "upload/blob_folder.h"

namespace accel::agent {

// Not thread-safe.
class VerifiedBlobs {
 public:
  // A blob that was compared longer ago than this must be compared again, because the disk may have
  // damaged it since.
  static constexpr absl::Duration kLifetime = absl::Hours(24);
  // Bounds the memory. If there would be more blobs, all of them are forgotten.
  static constexpr size_t kMaxBlobs = 100'000;

  // Notes that the file with this stamp has the hash that is its name.
  void Note(const std::string& sha256, const upload::BlobStamp& stamp, absl::Time now);
  // Returns true if the file was noted with this stamp, at most kLifetime ago.
  bool Has(const std::string& sha256, const upload::BlobStamp& stamp, absl::Time now) const;
  // Replaces the stamp of a file whose times this process itself has changed.
  void Restamp(const std::string& sha256, const upload::BlobStamp& before,
               const upload::BlobStamp& after);
  void Forget(const std::string& sha256) { blobs_.erase(sha256); }

 private:
  struct Verified {
    upload::BlobStamp stamp;
    absl::Time at;
  };

  absl::flat_hash_map<std::string, Verified> blobs_;  // Keyed by hash.
};

}  // namespace accel::agent
