// Parameters and buffers whose initialisation was recorded, and gets executed in prepare()
// (docs/decisions/0086).
#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "runtime/comm/communicator.h"
#include "runtime/recording/libtorch.h"
#include "runtime/recording/tape.h"

namespace accel::runtime {

// Such tensors of one module. They remain the same objects when they get memory, so this refers to
// their places on the tape, too. Not thread-safe.
class RecordedTensors {
 public:
  RecordedTensors() = default;
  // Takes them while they are on "meta".
  explicit RecordedTensors(const torch::nn::Module& module);

  // Gives each tensor its whole value on the device. Those that have shared memory in the
  // constructor share it on the CPU. Not collective.
  void give_whole(c10::Device device) const;

  // Calls `deliver` with each tensor of `missing` that is recorded, in the order of their last
  // operators, and its whole value on the CPU. The value is freed afterwards. Values are those of
  // rank 0's random numbers and constants. Returns the identities of these tensors, and forgets all
  // others. Collective, if any rank has a missing tensor.
  //
  // Throws std::invalid_argument on all ranks if they have recorded different operators, or
  // different tensors.
  std::set<const void*> give(
      const std::set<const void*>& missing, Communicator& world,
      const std::function<void(const at::Tensor& tensor, const at::Tensor& value)>& deliver);

 private:
  struct One {
    at::Tensor tensor;
    at::Tensor place;  // Shares the recorded storage, which keeps the tape alive.
  };
  static std::set<int> slots_of(const std::vector<One>& all);
  void expect_equal_on_all_ranks(Communicator& world) const;

  // By tape. A program that builds modules on several threads has several.
  std::vector<std::pair<std::shared_ptr<Tape>, std::vector<One>>> tapes_;
};

}  // namespace accel::runtime
