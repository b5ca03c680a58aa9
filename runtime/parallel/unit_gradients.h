// The gradients of one unit of a sharded model: unreduced in flat buffers during a pass, and
// between passes this rank's pieces of their mean in the parameters.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/parallel/part_memory.h"
#include "runtime/parallel/unit_layout.h"

namespace accel::runtime {

// The gradients of all parameters of a unit. Not thread-safe.
class UnitGradients {
 public:
  // `parts` has this rank's part of each buffer of parameters. Errors of reduce() contain `call`.
  // The references must outlive this object.
  UnitGradients(const UnitLayout& layout, const std::vector<at::Tensor>& parts,
                const ShardingGroups& groups, PartMemory& memory, std::string call);

  // Moves the gradient of parameter i, which has just arrived, into its buffer of gradients.
  void add(std::size_t i);
  // Returns true if there are unreduced gradients.
  bool has_unreduced() const;
  // Reduces the gradients to this rank's part of their mean, and adds it to the part of earlier
  // passes. Parameters without a gradient count as zero. Collective.
  void reduce();
  // Drop the unreduced gradient of parameter i, or all gradients and means.
  void drop(std::size_t i);
  void drop_all();

  // Between passes, the gradient of a parameter is its piece of the mean. take_means() moves these
  // pieces to the buffers before a pass. give_means() returns them after it, to each parameter that
  // had one and to those for which has_mean[i] is true.
  void take_means();
  void give_means(const std::vector<bool>& has_mean);

 private:
  struct Buffer {
    at::Tensor part;  // This rank's part of the parameters.
    // The unreduced gradients; undefined if there are none.
    at::Tensor gradients = {};
    at::Tensor mean = {};  // This rank's part of the mean; defined only inside of a pass.
  };
  struct Member {
    bool is_added = false;  // True if its gradient is in the buffer of gradients.
    bool had_mean = false;  // True if it had a mean before this pass.
  };
  void reduce(std::size_t index);

  const UnitLayout& layout_;
  const ShardingGroups& groups_;
  PartMemory& memory_;
  const std::string call_;
  std::vector<Buffer> buffers_;
  std::vector<Member> members_;  // By parameter.
};

}  // namespace accel::runtime
