#include "upload/core/ignore_rules.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "common/utf8.h"

namespace accel::upload {
namespace {

constexpr absl::string_view kOwnRules[] = {".git", "__pycache__/"};
constexpr absl::string_view kAnyFolders = "**";

// Returns the length of the character at the start of `text`. An invalid byte counts
// as a character.
size_t CharLength(absl::string_view text) { return std::max<size_t>(1, common::Utf8Length(text)); }

// Returns the position after the class that begins at `at`, or nullopt if it has no end. A `]` that
// comes first is a character of the class.
std::optional<size_t> EndOfClass(absl::string_view pattern, size_t at) {
  size_t next = at + 1;
  if (next < pattern.size() && (pattern[next] == '!' || pattern[next] == '^')) ++next;
  for (bool first = true; next < pattern.size(); first = false) {
    if (pattern[next] == ']' && !first) return next + 1;
    next += pattern[next] == '\\' ? 2 : 1;
  }
  return std::nullopt;
}

// Returns true if the class `text`, which includes its brackets, contains the character. Classes
// contain only ASCII.
bool IsInClass(absl::string_view text, absl::string_view character) {
  absl::string_view members = text.substr(1, text.size() - 2);
  const bool inverted = absl::ConsumePrefix(&members, "!") || absl::ConsumePrefix(&members, "^");
  bool found = false;
  const auto take = [&members] {
    if (members[0] == '\\' && members.size() > 1) members.remove_prefix(1);
    const char taken = members[0];
    members.remove_prefix(1);
    return taken;
  };
  while (!members.empty()) {
    const char from = take();
    char to = from;
    if (members.size() > 1 && members[0] == '-') {
      members.remove_prefix(1);
      to = take();
    }
    found |= character.size() == 1 && from <= character[0] && character[0] <= to;
  }
  return found != inverted;
}

// Compares the element of the pattern at `at` with one character. Returns the position after the
// element, or nullopt if it does not match.
std::optional<size_t> MatchOne(absl::string_view pattern, size_t at, absl::string_view character) {
  if (pattern[at] == '?') return at + 1;
  if (pattern[at] == '[') {
    const size_t end = *EndOfClass(pattern, at);  // Add() has checked that there is one.
    if (!IsInClass(pattern.substr(at, end - at), character)) return std::nullopt;
    return end;
  }
  if (pattern[at] == '\\' && at + 1 < pattern.size()) ++at;
  if (pattern.substr(at, character.size()) != character) return std::nullopt;
  return at + character.size();
}

// Returns true if the pattern of one path part matches a name. Backtracks only to the last star, so
// the time is bounded by the product of the lengths.
bool MatchesName(absl::string_view pattern, absl::string_view name) {
  size_t at = 0, used = 0, retry = 0;
  std::optional<size_t> star;
  while (used < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      retry = used;
      continue;
    }
    const size_t length = CharLength(name.substr(used));
    if (at < pattern.size()) {
      if (const auto next = MatchOne(pattern, at, name.substr(used, length))) {
        at = *next;
        used += length;
        continue;
      }
    }
    if (!star.has_value()) return false;
    retry += CharLength(name.substr(retry));
    used = retry;
    at = *star + 1;
  }
  return pattern.find_first_not_of('*', at) == pattern.npos;
}

// Returns true if the pattern matches the path. reached[n] is true if the pattern so far matches
// the first n parts of the path.
bool MatchesPath(const std::vector<std::string>& pattern,
                 const std::vector<absl::string_view>& path) {
  std::vector<bool> reached(path.size() + 1);
  reached[0] = true;
  for (size_t i = 0; i < pattern.size(); ++i) {
    std::vector<bool> next(reached.size());
    if (pattern[i] == kAnyFolders) {
      // At the end of a pattern, ** matches the content of a folder, but not the folder itself.
      const size_t least = i + 1 == pattern.size() ? 1 : 0;
      const size_t first =
          static_cast<size_t>(std::find(reached.begin(), reached.end(), true) - reached.begin());
      for (size_t end = first + least; end < next.size(); ++end) next[end] = true;
    } else {
      for (size_t end = 0; end < path.size(); ++end) {
        next[end + 1] = reached[end] && MatchesName(pattern[i], path[end]);
      }
    }
    reached = std::move(next);
  }
  return reached.back();
}

// Removes spaces at the end, except one after a backslash.
absl::string_view WithoutTrailingSpaces(absl::string_view line) {
  absl::ConsumeSuffix(&line, "\r");
  while (absl::EndsWith(line, " ") && !absl::EndsWith(line, "\\ ")) line.remove_suffix(1);
  return line;
}

bool ClassesEnd(absl::string_view pattern) {
  for (size_t at = 0; at < pattern.size();) {
    if (pattern[at] == '[') {
      const auto end = EndOfClass(pattern, at);
      if (!end.has_value()) return false;
      at = *end;
    } else {
      at += pattern[at] == '\\' ? 2 : 1;
    }
  }
  return true;
}

}  // namespace

absl::StatusOr<IgnoreRules> IgnoreRules::Parse(absl::string_view text) {
  if (text.size() > kMaxIgnoreBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has ", text.size(), " bytes; at most ", kMaxIgnoreBytes));
  }
  IgnoreRules rules;
  for (const absl::string_view rule : kOwnRules) ACCEL_RETURN_IF_ERROR(rules.Add(rule));
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const absl::Status added = rules.Add(line);
    if (!added.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("line ", number, ": ", added.message()));
    }
  }
  return rules;
}

absl::Status IgnoreRules::Add(absl::string_view line) {
  line = WithoutTrailingSpaces(line);
  Rule rule;
  if (line.empty() || line[0] == '#') return absl::OkStatus();
  rule.takes_back = absl::ConsumePrefix(&line, "!");
  rule.folders_only = absl::ConsumeSuffix(&line, "/");
  const bool anchored = line.find('/') != line.npos;
  absl::ConsumePrefix(&line, "/");
  if (line.empty()) return absl::OkStatus();
  if (rules_.size() >= kMaxIgnoreRules) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are more than ", kMaxIgnoreRules, " rules"));
  }
  for (const absl::string_view part : absl::StrSplit(line, '/')) {
    if (!ClassesEnd(part)) return absl::InvalidArgumentError("a class has no ]");
    rule.parts.emplace_back(part);
  }
  if (!anchored) rule.parts.insert(rule.parts.begin(), std::string(kAnyFolders));
  rules_.push_back(std::move(rule));
  return absl::OkStatus();
}

bool IgnoreRules::LeavesOut(absl::string_view path, bool is_folder) const {
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  const auto last = std::find_if(rules_.rbegin(), rules_.rend(), [&](const Rule& rule) {
    return (is_folder || !rule.folders_only) && MatchesPath(rule.parts, parts);
  });
  return last != rules_.rend() && !last->takes_back;
}

}  // namespace accel::upload
