// The rules that leave files out of an upload. They are accel's own rules for .git and __pycache__,
// followed by those of the file .accelignore. Its syntax is that of .gitignore. Pure.
//
//   # comment          *.log    any name, at any depth      /data    at the root only
//   build/             folders only                         a/**/b   any folders between
//   !keep.log          takes back an earlier rule; the last matching rule decides
//
// In a name, `*` matches any characters, `?` matches one, and `[a-z]` or `[!a-z]` matches one of a
// class. `\` makes the next character literal. A rule with a slash before its end is relative to
// the root. Files in a folder that is left out cannot be taken back.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace accel::upload {

inline constexpr size_t kMaxIgnoreBytes = 64 << 10;
inline constexpr size_t kMaxIgnoreRules = 1000;

class IgnoreRules {
 public:
  // Parses the text of a .accelignore. INVALID_ARGUMENT: it exceeds a bound, or a class has no end;
  // the message has the line.
  static absl::StatusOr<IgnoreRules> Parse(absl::string_view text);

  // Returns true if the last rule that matches this path leaves it out. The caller must skip the
  // content of a folder that is left out.
  bool LeavesOut(absl::string_view path, bool is_folder) const;

 private:
  struct Rule {
    std::vector<std::string> parts;  // The pattern, split at its slashes.
    bool takes_back = false;
    bool folders_only = false;
  };

  absl::Status Add(absl::string_view line);

  std::vector<Rule> rules_;
};

}  // namespace accel::upload
