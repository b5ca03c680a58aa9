#include "security/enrolment/wrong_tokens.h"

namespace accel::security {

bool WrongTokens::MayTry(const std::string& source, absl::Time now) {
  DropOld(now);
  const auto found = counts_.find(source);
  return found == counts_.end() || found->second < kMaxPerWindow;
}

void WrongTokens::Note(const std::string& source, absl::Time now) {
  entries_.push_back({source, now});
  ++counts_[source];
  DropOld(now);
}

void WrongTokens::DropOld(absl::Time now) {
  while (!entries_.empty() &&
         (now - entries_.front().at >= kWindow || counts_.size() > kMaxSources)) {
    const auto found = counts_.find(entries_.front().source);
    if (--found->second == 0) counts_.erase(found);
    entries_.pop_front();
  }
}

}  // namespace accel::security
