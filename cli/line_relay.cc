#include "cli/line_relay.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace accel::cli {
namespace {

constexpr size_t kLongestLine = 64 << 10;
constexpr char kEraseLine[] = "\x1b[K";

}  // namespace

std::string LineRelay::Add(int rank, int stream, int64_t gap, absl::string_view bytes) {
  std::string out;
  const Source source(rank, stream);
  Line& line = lines_[source];
  if (gap > 0) {
    if (!line.returned && !line.text.empty()) Emit(source, line.text, '\n', &out);
    line = {};
    Emit(source, absl::StrCat("... ", gap, " bytes of output were dropped ..."), '\n', &out);
  }
  if (!options_.prefix) {
    out.append(bytes.data(), bytes.size());
    return out;
  }
  while (!bytes.empty()) {
    if (line.returned) {
      if (absl::ConsumePrefix(&bytes, "\n")) Feed(source, line.text, &out);
      line = {};
      continue;
    }
    const size_t size = std::min(bytes.find_first_of("\r\n"), bytes.size());
    line.text.append(bytes.data(), size);
    bytes.remove_prefix(size);
    if (absl::ConsumePrefix(&bytes, "\r\n") || absl::ConsumePrefix(&bytes, "\n")) {
      Emit(source, line.text, '\n', &out);
      line = {};
    } else if (absl::ConsumePrefix(&bytes, "\r")) {
      // A progress bar begins with a carriage return, so the text before the first one is empty and
      // is not shown.
      if (!line.text.empty()) Emit(source, line.text, '\r', &out);
      line.returned = true;
    } else if (line.text.size() >= kLongestLine) {
      Emit(source, line.text, '\n', &out);
      line = {};
    }
  }
  return out;
}

std::string LineRelay::Flush() {
  std::string out;
  for (const auto& [source, line] : lines_) {
    if (!line.returned && !line.text.empty()) Emit(source, line.text, '\n', &out);
  }
  if (on_bar_) out.push_back('\n');
  lines_.clear();
  on_bar_ = false;
  return out;
}

void LineRelay::Feed(Source source, absl::string_view line, std::string* out) {
  if (on_bar_ && bar_of_ == source) {
    out->push_back('\n');
    on_bar_ = false;
  } else if (options_.terminal || line.empty()) {
    Emit(source, line, '\n', out);
  }
}

void LineRelay::Emit(Source source, absl::string_view line, char end, std::string* out) {
  const bool bar = end == '\r' && options_.terminal;
  // A rank redraws its own bar in place. Another rank's line first erases the bar.
  if (on_bar_ && (!bar || source != bar_of_)) out->append(kEraseLine);
  if (options_.prefix) absl::StrAppend(out, "[rank ", source.first, "] ");
  absl::StrAppend(out, line);
  out->push_back(bar ? '\r' : '\n');
  on_bar_ = bar;
  bar_of_ = source;
}

}  // namespace accel::cli
