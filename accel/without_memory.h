// Builds a model that is larger than the memory of one process. See docs/sharded.md.
#pragma once

#include <utility>

#include "runtime/parallel/without_memory.h"

namespace accel {

// Returns what `make` returns, such as a model. Parameters and buffers that `make` creates on this
// thread have shapes and no memory, whatever their size. The constructor of the model needs no
// change for this.
//
//   Net net = accel::without_memory([] { return Net(); });
//   auto model = accelerator.prepare(net);
//   accelerator.load_checkpoint_in_model(model, "weights");
//
// prepare() gives each rank the memory of its part of a sharded model, or of the whole model if
// it is not sharded. The values come from load_checkpoint_in_model(), load_state() or
// resume_from_newest(), which must then load every tensor that was made without memory. A
// sharded model cannot be used before that. Rank 0 may make some parameters and buffers as
// usual, for example those of a new head. All ranks get their values from rank 0 in prepare(),
// one unit at a time.
//
// The initialisation of the constructor is lost, and draws no random numbers. deferred_init()
// keeps it (accel/deferred_init.h). A constructor that reads the value of a tensor, as item()
// does, throws c10::Error.
template <typename Make>
auto without_memory(Make&& make) {
  const runtime::WithoutMemoryScope scope;
  return std::forward<Make>(make)();
}

}  // namespace accel
