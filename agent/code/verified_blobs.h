// The blobs of a node's cache whose hashes this process has compared, so that the next job need not
// read them for that again (docs/decisions/0083).
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
  // A blob that was compared longer ago must be compared again, because its disk may be damaged.
  static constexpr absl::Duration kLifetime = absl::Hours(24);
  // Bounds the memory. If there are more, all are forgotten.
  static constexpr size_t kMaxBlobs = 100'000;

  // Notes that the file with this stamp has the bytes that its name says.
  void Note(const std::string& sha256, const upload::BlobStamp& stamp, absl::Time now);
  // Returns true if the file that now has this stamp was noted.
  bool Has(const std::string& sha256, const upload::BlobStamp& stamp, absl::Time now) const;
  // Notes that this process itself has changed the times of a file.
  void Restamp(const std::string& sha256, const upload::BlobStamp& before,
               const upload::BlobStamp& after);
  void Forget(const std::string& sha256) { blobs_.erase(sha256); }

 private:
  struct Verified {
    upload::BlobStamp stamp;
    absl::Time at;
  };

  absl::flat_hash_map<std::string, Verified> blobs_;  // By hash.
};

}  // namespace accel::agent
