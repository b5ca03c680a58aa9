// The parameters and buffers whose initialisation was recorded, and is executed
// in prepare() (docs/decisions/0086).
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

// The recorded tensors of one module. A tensor remains the same object when it gets memory, so this
// also keeps its place on the tape. Not thread-safe.
class RecordedTensors {
 public:
  RecordedTensors() = default;
  // Finds the recorded tensors of the module. They must still be on "meta".
  explicit RecordedTensors(const torch::nn::Module& module);

  // Gives each tensor its whole value on the device. Tensors that have shared memory in the
  // constructor also share it here if the device is the CPU. Not collective.
  void give_whole(c10::Device device) const;

  // Calls `deliver` with each recorded tensor of `missing`, in the order of their last operators,
  // and with its whole value on the CPU. The value is freed afterwards. The values come from rank
  // 0's random numbers and constants. Returns the identities of these tensors, and forgets all
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
