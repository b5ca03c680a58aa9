#include "agent/code/verified_blobs.h"

namespace accel::agent {

void VerifiedBlobs::Note(const std::string& sha256, const upload::BlobStamp& stamp,
                         absl::Time now) {
  if (blobs_.size() >= kMaxBlobs && !blobs_.contains(sha256)) blobs_.clear();
  blobs_[sha256] = {.stamp = stamp, .at = now};
}

bool VerifiedBlobs::Has(const std::string& sha256, const upload::BlobStamp& stamp,
                        absl::Time now) const {
  const auto found = blobs_.find(sha256);
  if (found == blobs_.end() || found->second.stamp != stamp) return false;
  // A clock that was set back makes the age negative.
  const absl::Duration age = now - found->second.at;
  return age >= absl::ZeroDuration() && age < kLifetime;
}

void VerifiedBlobs::Restamp(const std::string& sha256, const upload::BlobStamp& before,
                            const upload::BlobStamp& after) {
  const auto found = blobs_.find(sha256);
  if (found != blobs_.end() && found->second.stamp == before) found->second.stamp = after;
}

}  // namespace accel::agent
