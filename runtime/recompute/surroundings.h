// The state around a call of a function, which must be the same when the function is called again.
#pragma once

#include <utility>
#include <vector>

#include "runtime/recompute/libtorch.h"

namespace accel::runtime {

// The states of the random number generators, and this thread's state of autocast, for the CPU, the
// current GPU, and the GPUs of some tensors.
class Surroundings {
 public:
  // Takes the current states.
  explicit Surroundings(const std::vector<at::Tensor>& tensors);
  // Restores these states on this thread.
  void restore() const;

 private:
  struct Autocast {
    c10::DeviceType type;
    bool is_enabled;
    at::ScalarType dtype;
  };
  std::vector<std::pair<c10::Device, at::Tensor>> generators_;
  std::vector<Autocast> autocast_;
};

// While the scope lives, the states of `former` are current. Then the previous states are restored.
class RepeatedSurroundings {
 public:
  RepeatedSurroundings(const Surroundings& former, const std::vector<at::Tensor>& tensors)
      : now_(tensors) {
    former.restore();
  }
  ~RepeatedSurroundings() { now_.restore(); }
  RepeatedSurroundings(const RepeatedSurroundings&) = delete;
  RepeatedSurroundings& operator=(const RepeatedSurroundings&) = delete;

 private:
  const Surroundings now_;
};

// While the scope lives, autocast does not keep casts of parameters for later operators. A kept
// cast would join the graphs of all operators that use it.
class NoCastCache {
 public:
  NoCastCache();
  ~NoCastCache();
  NoCastCache(const NoCastCache&) = delete;
  NoCastCache& operator=(const NoCastCache&) = delete;

 private:
  const bool was_enabled_;
};

}  // namespace accel::runtime
