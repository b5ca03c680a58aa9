// Counts wrong tokens by source. A source that has sent too many is refused for some time.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "absl/time/time.h"

namespace accel::security {

// Not thread-safe.
class WrongTokens {
 public:
  static constexpr size_t kMaxPerWindow = 5;
  static constexpr absl::Duration kWindow = absl::Minutes(1);
  // Maximum number of remembered sources; the oldest is forgotten first. An attacker with more
  // sources does not gain much, because enrolments at a time are bounded and a secret has 128 bits.
  static constexpr size_t kMaxSources = 4096;

  // Returns false if the source has sent kMaxPerWindow wrong tokens within the window.
  bool MayTry(const std::string& source, absl::Time now);
  void Note(const std::string& source, absl::Time now);

 private:
  void DropOld(absl::Time now);

  struct Entry {
    std::string source;
    absl::Time at;
  };
  std::deque<Entry> entries_;  // Oldest first.
  std::map<std::string, size_t> counts_;
};

}  // namespace accel::security
