#include "runtime/core/rank_difference.h"

#include <cstddef>
#include <sstream>

namespace accel::runtime {

std::optional<std::string> rank_difference(const std::vector<std::string>& texts) {
  for (std::size_t rank = 1; rank < texts.size(); ++rank) {
    if (texts[rank] == texts[0]) continue;
    std::istringstream mine(texts[rank]), first(texts[0]);
    const auto next = [](std::istringstream& lines) {
      std::string line;
      return std::getline(lines, line) ? line : "nothing more";
    };
    std::string here, there;
    do {
      here = next(mine);
      there = next(first);
    } while (here == there && mine && first);
    return here + " on rank " + std::to_string(rank) + ", and " + there + " on rank 0";
  }
  return std::nullopt;
}

}  // namespace accel::runtime
