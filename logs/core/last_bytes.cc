#include "logs/core/last_bytes.h"

namespace accel::logs {

void LastBytes::Add(absl::string_view bytes) {
  if (bytes.size() > most_) {
    bytes.remove_prefix(bytes.size() - most_);
    cut_ = true;
  }
  if (bytes_.size() + bytes.size() > most_) {
    bytes_.erase(0, bytes_.size() + bytes.size() - most_);
    cut_ = true;
  }
  bytes_.append(bytes.data(), bytes.size());
}

absl::string_view LastBytes::text() const {
  constexpr absl::string_view kLineEnds = "\r\n";
  const absl::string_view all = bytes_;
  if (!cut_) return all;
  const size_t end = all.find_first_of(kLineEnds);
  const size_t next = all.find_first_not_of(kLineEnds, end);
  return end == absl::string_view::npos || next == absl::string_view::npos ? all : all.substr(next);
}

}  // namespace accel::logs
