#include "logs/core/redraw_filter.h"

#include <algorithm>

namespace accel::logs {
namespace {

// Returns true if the text may be a part of a bar. Binary data with carriage returns usually has
// other control characters too, so it does not count as a bar.
bool MayBeABar(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 || byte == '\x1b' || byte == '\t' || byte == '\b';
  });
}

}  // namespace

absl::string_view RedrawFilter::Add(absl::string_view bytes, absl::Time now) {
  if (!redrawn_ && bytes.find('\r') == absl::string_view::npos) return bytes;
  out_.clear();
  while (!bytes.empty()) {
    if (redrawn_) {
      AddState(&bytes, now);
      continue;
    }
    const size_t end = bytes.find('\r');
    redrawn_ = end != absl::string_view::npos;
    const size_t size = redrawn_ ? end + 1 : bytes.size();
    out_.append(bytes.data(), size);
    bytes.remove_prefix(size);
    since_ = now;
    passed_at_ = absl::InfinitePast();
    passing_ = false;
  }
  if (now >= due()) {
    Pass();
    passed_at_ = now;
  }
  return out_;
}

// Takes the bytes up to the end of the current state.
void RedrawFilter::AddState(absl::string_view* bytes, absl::Time now) {
  const size_t size = std::min(bytes->find_first_of("\r\n"), bytes->size());
  const absl::string_view text = bytes->substr(0, size);
  bytes->remove_prefix(size);
  if (!passing_) {
    state_.append(text.data(), text.size());
    if (state_.size() > options_.max_state_bytes || !MayBeABar(text)) {
      out_ += held_;
      held_.clear();
      Pass();
      passed_at_ = now;
    }
  } else {
    out_.append(text.data(), text.size());
  }
  if (bytes->empty()) return;
  const bool returns = bytes->front() == '\r';
  bytes->remove_prefix(1);
  returns ? EndState() : EndLine();
}

void RedrawFilter::EndState() {
  if (passing_) {
    out_.push_back('\r');
    passing_ = false;
    return;
  }
  left_out_ += static_cast<int64_t>(held_.size());
  held_.swap(state_);
  held_.push_back('\r');
  state_.clear();
}

void RedrawFilter::EndLine() {
  Pass();
  out_.push_back('\n');
  redrawn_ = false;
}

// Lets the newest whole state pass, and the part of the next state that has arrived.
void RedrawFilter::Pass() {
  // The newest state is left out only if the next one is long enough to overwrite it on the screen.
  if (state_.size() + 1 >= held_.size() && !state_.empty()) {
    left_out_ += static_cast<int64_t>(held_.size());
  } else {
    out_ += held_;
  }
  out_ += state_;
  passing_ = passing_ || !state_.empty();
  held_.clear();
  state_.clear();
}

absl::Time RedrawFilter::due() const {
  if (!redrawn_ || (held_.empty() && state_.empty())) return absl::InfiniteFuture();
  if (passed_at_ == absl::InfinitePast()) return passed_at_;
  const absl::Duration window = (passed_at_ - since_) * options_.share;
  return passed_at_ + std::clamp(window, options_.shortest, options_.longest);
}

absl::string_view RedrawFilter::Flush(absl::Time now) {
  out_.clear();
  Pass();
  passed_at_ = now;
  return out_;
}

}  // namespace accel::logs
