#include "runtime/core/sharding/unit_trace.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <system_error>

namespace accel::runtime {
namespace {

struct Entries {
  std::uint64_t first = 0;  // The number of the first entry that is kept.
  std::vector<std::string> texts;

  std::uint64_t end() const { return first + texts.size(); }
  std::string at(std::uint64_t number) const {
    return number < end() ? texts[static_cast<std::size_t>(number - first)] : "";
  }
};

// Reads "FIRST\nTEXT\nTEXT\n".
Entries parse(std::string_view bytes) {
  Entries entries;
  const auto next_line = [&] {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    const std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    return line;
  };
  const std::string_view first = next_line();
  const auto [end, error] =
      std::from_chars(first.data(), first.data() + first.size(), entries.first);
  if (error != std::errc() || end != first.data() + first.size()) return {};
  while (!bytes.empty() && entries.texts.size() < UnitTrace::kKept) {
    entries.texts.emplace_back(next_line());
  }
  return entries;
}

}  // namespace

void UnitTrace::add(const std::string& entry) {
  for (const char byte : entry + '\n') {
    digest_ = (digest_ ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  ++count_;
  last_.push_back(entry);
  if (last_.size() > kKept) last_.pop_front();
}

std::string UnitTrace::bytes() const {
  std::string text = std::to_string(count_ - last_.size()) + '\n';
  for (const std::string& entry : last_) text += entry + '\n';
  return text;
}

std::string difference_between(const std::vector<std::string>& traces) {
  std::vector<Entries> all;
  std::uint64_t first = 0, end = 0;
  for (const std::string& trace : traces) {
    all.push_back(parse(trace));
    first = std::max(first, all.back().first);
    end = std::max(end, all.back().end());
  }
  for (std::uint64_t number = first; number < end; ++number) {
    std::map<std::string, std::string> ranks;  // By what they did.
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      std::string& those = ranks[all[rank].at(number)];
      those += (those.empty() ? "rank " : ", rank ") + std::to_string(rank);
    }
    if (ranks.size() < 2) continue;
    std::string text;
    for (const auto& [did, those] : ranks) {
      text += (text.empty() ? "" : "; ") + those + (did.empty() ? " did no more" : " did " + did);
    }
    return text;
  }
  return "the ranks did different things too long ago to name them";
}

}  // namespace accel::runtime
