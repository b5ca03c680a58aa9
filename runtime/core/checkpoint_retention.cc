#include "runtime/core/checkpoint_retention.h"

#include <algorithm>

#include "runtime/core/checkpoint_layout.h"

namespace accel::runtime {

std::vector<std::string> checkpoints_to_delete(const std::vector<std::string>& names,
                                               const std::string& written,
                                               std::optional<std::size_t> total_limit,
                                               const std::set<std::string>& incomplete) {
  std::vector<std::string> others = checkpoints_among(names);
  std::erase(others, written);
  std::stable_partition(others.begin(), others.end(),
                        [&](const std::string& name) { return incomplete.contains(name); });
  const std::size_t kept = total_limit ? std::min(others.size(), *total_limit - 1) : others.size();
  others.resize(others.size() - kept);
  return others;
}

}  // namespace accel::runtime
