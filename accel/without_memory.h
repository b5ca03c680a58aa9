// Builds a model that is larger than the memory of one process. See docs/sharded.md.
#pragma once

#include <utility>

#include "runtime/parallel/without_memory.h"

namespace accel {

// Returns what `make` returns, such as a model. Parameters and buffers that `make` creates on this
// thread have shapes and no memory, whatever their size: the constructor need not know of this.
//
//   Net net = accel::without_memory([] { return Net(); });
//   auto model = accelerator.prepare(net);
//   accelerator.load_checkpoint_in_model(model, "weights");
//
// prepare() gives each rank the memory of its part of a sharded model, and of all of another one.
// The values come from load_checkpoint_in_model(), load_state() or resume_from_newest(), which then
// must load every tensor that was made so; a sharded model cannot be used before that. Parameters
// and buffers that rank 0 has made as usual, such as all or those of a new head, get its values in
// prepare(), one unit at a time.
//
// The initialisation of the constructor is lost, and draws no random numbers. deferred_init() keeps
// it (accel/deferred_init.h). A constructor that
// reads the value of a tensor, as item() does, throws c10::Error.
template <typename Make>
auto without_memory(Make&& make) {
  const runtime::WithoutMemoryScope scope;
  return std::forward<Make>(make)();
}

}  // namespace accel
