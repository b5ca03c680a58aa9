// Divides a sequence among the processes, for split_between_processes().
#pragma once

#include <cstddef>

namespace accel::runtime {

// The items [begin, end) of a sequence, followed by its last item `padding` times (0 or 1).
struct Share {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t padding = 0;
};

// Returns process_index's part of `length` items: the parts are consecutive and differ by at most
// one item, the longer ones first. With `pad`, all parts are as long as the first one, unless the
// sequence is empty, which has no item to repeat. Requires 0 <= process_index < num_processes.
inline Share share_of(std::size_t length, std::size_t num_processes, std::size_t process_index,
                      bool pad) {
  const std::size_t each = length / num_processes, longer = length % num_processes;
  const bool is_longer = process_index < longer;
  const std::size_t begin = process_index * each + (is_longer ? process_index : longer);
  return {.begin = begin,
          .end = begin + each + (is_longer ? 1 : 0),
          .padding = pad && longer > 0 && !is_longer ? std::size_t{1} : 0};
}

}  // namespace accel::runtime
