// Which part of a sequence a process gets.
#pragma once

#include <cstddef>

namespace accel {

// Items [begin, end), and then the last item of the sequence, `padding` times: 0 or 1.
struct Share {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t padding = 0;
};

// Of `length` items over `num_processes`: consecutive parts that differ by at most one item, longer
// ones first. With `pad`, all are as long as the first; nothing can be repeated of an empty
// sequence. 0 <= process_index < num_processes.
inline Share share_of(std::size_t length, std::size_t num_processes, std::size_t process_index,
                      bool pad) {
  const std::size_t each = length / num_processes, longer = length % num_processes;
  const bool is_longer = process_index < longer;
  const std::size_t begin = process_index * each + (is_longer ? process_index : longer);
  return {.begin = begin,
          .end = begin + each + (is_longer ? 1 : 0),
          .padding = pad && longer > 0 && !is_longer ? std::size_t{1} : 0};
}

}  // namespace accel
