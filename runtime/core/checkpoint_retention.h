// Decides which automatically named checkpoints are deleted after a save.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace accel::runtime {

// Returns the checkpoints among `names` to delete so that `total_limit` (at least 1) remain: first
// those in `incomplete`, then the oldest by number. `written`, the checkpoint that was saved last,
// is never among them, whatever its number. If `total_limit` is nullopt, all are kept.
std::vector<std::string> checkpoints_to_delete(const std::vector<std::string>& names,
                                               const std::string& written,
                                               std::optional<std::size_t> total_limit,
                                               const std::set<std::string>& incomplete = {});

}  // namespace accel::runtime
