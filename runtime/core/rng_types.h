#pragma once

namespace accel {

// Of which generators every rank gets rank 0's state whenever a loop over a prepared loader begins,
// beside those of the samplers: prepare() seeds these alike on all ranks, which costs a loop
// nothing.
struct RngTypes {
  bool torch = false;  // LibTorch's of the CPU.
  bool cuda = false;   // LibTorch's of the device, where that is a GPU.
};

}  // namespace accel
