#include "cli/line_fold.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/dropped_note.h"

namespace accel::cli {
namespace {

constexpr size_t kLongestLine = 64 << 10;

// Returns what a terminal would show of a line, after its carriage returns.
absl::string_view Shown(absl::string_view line) {
  while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  const size_t returned = line.rfind('\r');
  return returned == absl::string_view::npos ? line : line.substr(returned + 1);
}

}  // namespace

std::string RankList(const std::set<int>& ranks) {
  std::string list;
  for (auto rank = ranks.begin(); rank != ranks.end();) {
    const int first = *rank;
    int last = first;
    while (++rank != ranks.end() && *rank == last + 1) last = *rank;
    absl::StrAppend(&list, list.empty() ? "" : ",", first);
    if (last > first) absl::StrAppend(&list, "-", last);
  }
  return list;
}

std::string LineFold::Add(int rank, int64_t gap, absl::string_view bytes, absl::Time now) {
  std::string& line = unfinished_[rank];
  if (gap > 0) {
    if (!line.empty()) AddLine(rank, std::exchange(line, {}), now);
    AddLine(rank, DroppedNote(gap), now);
  }
  while (!bytes.empty()) {
    const size_t size = std::min(bytes.find('\n'), bytes.size());
    line.append(bytes.data(), size);
    bytes.remove_prefix(size);
    if (bytes.empty() && line.size() < kLongestLine) break;
    if (!bytes.empty()) bytes.remove_prefix(1);
    AddLine(rank, std::string(Shown(std::exchange(line, {}))), now);
  }
  std::string out;
  while (entries_.size() > options_.max_lines || bytes_ > options_.max_bytes) PrintOldest(&out);
  return out;
}

void LineFold::AddLine(int rank, std::string text, absl::Time now) {
  const auto newest = newest_.find(rank);
  const int64_t from = newest == newest_.end() ? first_ : std::max(first_, newest->second);
  std::set<int64_t>& numbers = numbers_[text];
  auto number = numbers.lower_bound(from);
  if (number == numbers.end()) {
    number = numbers.insert(first_ + static_cast<int64_t>(entries_.size())).first;
    bytes_ += text.size();
    entries_.push_back({std::move(text), {}, 0, now});
  }
  Entry& entry = entries_[static_cast<size_t>(*number - first_)];
  entry.ranks.insert(rank);
  ++entry.times;
  newest_[rank] = *number;
}

void LineFold::PrintOldest(std::string* out) {
  const Entry& entry = entries_.front();
  if (entry.times == 1) {
    absl::StrAppend(out, "[rank ", *entry.ranks.begin(), "] ", entry.text, "\n");
  } else {
    absl::StrAppend(out, entry.ranks.size() == 1 ? "[rank " : "[ranks ", RankList(entry.ranks),
                    ", ", entry.times, " times] ", entry.text, "\n");
  }
  const auto numbers = numbers_.find(entry.text);
  numbers->second.erase(first_);
  if (numbers->second.empty()) numbers_.erase(numbers);
  bytes_ -= entry.text.size();
  entries_.pop_front();
  ++first_;
}

std::string LineFold::Due(absl::Time now) {
  std::string out;
  while (!entries_.empty() && entries_.front().since + options_.window <= now) PrintOldest(&out);
  return out;
}

std::string LineFold::Flush() {
  for (auto& [rank, line] : unfinished_) {
    if (!line.empty()) AddLine(rank, std::string(Shown(line)), absl::InfinitePast());
  }
  unfinished_.clear();
  std::string out;
  while (!entries_.empty()) PrintOldest(&out);
  return out;
}

}  // namespace accel::cli
