#include "cli/line_relay.h"

#include "absl/strings/str_cat.h"

namespace accel {
namespace {

constexpr size_t kLongestLine = 64 << 10;
constexpr char kEraseLine[] = "\x1b[K";

}  // namespace

std::string LineRelay::Add(int rank, int stream, int64_t gap, absl::string_view bytes) {
  std::string out;
  const Source source(rank, stream);
  std::string& half = half_[source];
  if (gap > 0) {
    if (!half.empty()) Emit(source, half, '\n', &out);
    half.clear();
    Emit(source, absl::StrCat("... ", gap, " bytes of output were dropped ..."), '\n', &out);
  }
  if (!options_.prefix) {
    out.append(bytes.data(), bytes.size());
    return out;
  }
  while (!bytes.empty()) {
    const size_t end = bytes.find_first_of("\r\n");
    const size_t size = end == absl::string_view::npos ? bytes.size() : end;
    half.append(bytes.data(), size);
    if (end == absl::string_view::npos) {
      if (half.size() < kLongestLine) break;
      Emit(source, half, '\n', &out);
      half.clear();
      break;
    }
    // A carriage return before a line feed is part of the line's end.
    const bool both = bytes[end] == '\r' && end + 1 < bytes.size() && bytes[end + 1] == '\n';
    Emit(source, half, both ? '\n' : bytes[end], &out);
    half.clear();
    bytes.remove_prefix(end + (both ? 2 : 1));
  }
  return out;
}

std::string LineRelay::Flush() {
  std::string out;
  for (const auto& [source, half] : half_) {
    if (!half.empty()) Emit(source, half, '\n', &out);
  }
  if (on_bar_) out.push_back('\n');
  half_.clear();
  on_bar_ = false;
  return out;
}

void LineRelay::Emit(Source source, absl::string_view line, char end, std::string* out) {
  const bool bar = end == '\r' && options_.terminal;
  // A bar is drawn again by its own rank; before another rank's line it is wiped away.
  if (on_bar_ && (!bar || source != bar_of_)) out->append(kEraseLine);
  if (options_.prefix) absl::StrAppend(out, "[rank ", source.first, "] ");
  absl::StrAppend(out, line);
  out->push_back(bar ? '\r' : '\n');
  on_bar_ = bar;
  bar_of_ = source;
}

}  // namespace accel
