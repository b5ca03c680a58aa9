#include "cli/render/line_relay.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace accel {

void LineRelay::Add(absl::string_view data, std::string* out) {
  while (!data.empty()) {
    const size_t end = data.find_first_of("\r\n");
    const size_t room = kLongestLine - line_.size();
    const size_t text = std::min(end == absl::string_view::npos ? data.size() : end, room);
    if (text > 0) {
      line_.append(data.data(), text);
      data.remove_prefix(text);
      after_return_ = false;
      if (line_.size() == kLongestLine) EndLine(out);
      continue;
    }
    const bool is_return = data.front() == '\r';
    // Two line ends in a row make an empty line, but for "\r\n" and the "\r" that begins a redrawn
    // line.
    const bool nothing = line_.empty() && (is_return || after_return_);
    if (!nothing) EndLine(out);
    after_return_ = is_return;
    data.remove_prefix(1);
  }
}

void LineRelay::Finish(std::string* out) {
  if (!line_.empty()) EndLine(out);
  after_return_ = false;
}

void LineRelay::EndLine(std::string* out) {
  absl::StrAppend(out, prefix_, line_, "\n");
  line_.clear();
}

}  // namespace accel
