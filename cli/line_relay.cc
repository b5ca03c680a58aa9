#include "cli/line_relay.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cli/dropped_note.h"

namespace accel::cli {
namespace {

constexpr size_t kLongestLine = 64 << 10;
constexpr char kEraseLine[] = "\x1b[K";

}  // namespace

std::string LineRelay::Add(int rank, int stream, int64_t gap, absl::string_view bytes) {
  std::string out;
  const Source source(rank, stream);
  Line& line = LineOf(source);
  if (gap > 0) {
    if (!line.returned && !line.text.empty()) Emit(source, line, line.text, '\n', &out);
    line.Clear();
    Emit(source, line, DroppedNote(gap), '\n', &out);
  }
  if (!line.prefix) {
    if (on_bar_) out.append(kEraseLine);
    on_bar_ = false;
    out.append(bytes.data(), bytes.size());
    return out;
  }
  while (!bytes.empty()) {
    if (line.returned) {
      if (absl::ConsumePrefix(&bytes, "\n")) Feed(source, line, &out);
      line.Clear();
      continue;
    }
    const size_t size = std::min(bytes.find_first_of("\r\n"), bytes.size());
    line.text.append(bytes.data(), size);
    bytes.remove_prefix(size);
    if (absl::ConsumePrefix(&bytes, "\r\n") || absl::ConsumePrefix(&bytes, "\n")) {
      Emit(source, line, line.text, '\n', &out);
      line.Clear();
    } else if (absl::ConsumePrefix(&bytes, "\r")) {
      // A progress bar begins with a carriage return, so the text before the first one is empty and
      // is not shown.
      if (!line.text.empty()) Emit(source, line, line.text, '\r', &out);
      line.returned = true;
    } else if (line.text.size() >= kLongestLine) {
      Emit(source, line, line.text, '\n', &out);
      line.Clear();
    }
  }
  return out;
}

LineRelay::Line& LineRelay::LineOf(Source source) {
  const auto [found, is_new] = lines_.try_emplace(source);
  Line& line = found->second;
  if (!is_new) return line;
  if (options_.prefix) line.prefix = absl::StrCat("[rank ", source.first, "] ");
  if (!options_.mark) return line;
  if (auto mark = options_.mark(source.first, source.second)) line.prefix = *std::move(mark);
  return line;
}

std::string LineRelay::Flush() {
  std::string out;
  for (const auto& [source, line] : lines_) {
    if (!line.returned && !line.text.empty()) Emit(source, line, line.text, '\n', &out);
  }
  if (on_bar_) out.push_back('\n');
  for (auto& [source, line] : lines_) line.Clear();
  on_bar_ = false;
  return out;
}

void LineRelay::Feed(Source source, const Line& line, std::string* out) {
  if (on_bar_ && bar_of_ == source) {
    out->push_back('\n');
    on_bar_ = false;
  } else if (options_.terminal || line.text.empty()) {
    Emit(source, line, line.text, '\n', out);
  }
}

void LineRelay::Emit(Source source, const Line& of, absl::string_view text, char end,
                     std::string* out) {
  const bool bar = end == '\r' && options_.terminal;
  // A rank redraws its own bar in place. Another rank's line first erases the bar.
  if (on_bar_ && (!bar || source != bar_of_)) out->append(kEraseLine);
  if (of.prefix) out->append(*of.prefix);
  absl::StrAppend(out, text);
  out->push_back(bar ? '\r' : '\n');
  on_bar_ = bar;
  bar_of_ = source;
}

}  // namespace accel::cli
