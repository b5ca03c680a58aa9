#include "cli/json_lines.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/json_object.h"

namespace accel::cli {
namespace {

constexpr size_t kLongestLine = 64 << 10;

}  // namespace

std::string JsonLines::Line(int rank, absl::string_view text) const {
  JsonObject line = JsonObject::Versioned();
  line.Number("rank", static_cast<uint64_t>(rank)).Text("stream", stream_).Text("text", text);
  return line.Print() + "\n";
}

std::string JsonLines::Add(int rank, int64_t gap_bytes, absl::string_view data) {
  std::string out;
  std::string& begun = begun_[rank];
  if (gap_bytes > 0) {
    if (!begun.empty()) out += Line(rank, std::exchange(begun, ""));
    JsonObject gap = JsonObject::Versioned();
    gap.Number("rank", static_cast<uint64_t>(rank)).Text("stream", stream_);
    absl::StrAppend(&out, gap.Number("gap_bytes", static_cast<uint64_t>(gap_bytes)).Print(), "\n");
  }
  while (!data.empty()) {
    const size_t end = data.find('\n');
    const size_t room = kLongestLine - begun.size();
    const bool ends = end != absl::string_view::npos && end <= room;
    const absl::string_view part = data.substr(0, ends ? end : room);
    absl::StrAppend(&begun, part);
    data.remove_prefix(part.size() + (ends ? 1 : 0));
    if (ends || begun.size() == kLongestLine) out += Line(rank, std::exchange(begun, ""));
  }
  return out;
}

std::string JsonLines::Flush() {
  std::string out;
  for (const auto& [rank, text] : begun_) {
    if (!text.empty()) out += Line(rank, text);
  }
  begun_.clear();
  return out;
}

}  // namespace accel::cli
