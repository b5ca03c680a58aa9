// Builds a model without memory, and initialises it in prepare(). See docs/sharded.md.
#pragma once

#include <utility>

#include "runtime/recording/recorder.h"

namespace accel {

// Returns what `make` returns, such as a model, and defers its initialisation. The operators that
// `make` calls on this thread are recorded. Tensors that they make have shapes and no memory. The
// constructor of the model needs no change for this.
//
//   Net net = accel::deferred_init([] { return Net(); });
//   auto model = accelerator.prepare(net);
//
// prepare() executes the recorded operators, one tensor at a time. Each rank keeps its part of a
// sharded model, or the whole model if it is not sharded, with the random numbers of rank 0. The
// values, and the state of LibTorch's generator afterwards, are those of a model that was built as
// usual, bit by bit. The program should draw no random numbers of the CPU before prepare(), because
// the model gets the same numbers.
//
// Only parameters and buffers get values, and prepare() must come before any use of them. `make`
// may call anything except:
// - item() and other reads of values, generators other than the default one, devices other than
//   the CPU, sparse tensors, and operators that LibTorch has not implemented without memory, such
//   as nonzero() and multinomial(). They throw std::invalid_argument or c10::Error.
// - initialisation after `make` has returned, or another use before prepare(). They throw
//   std::logic_error.
template <typename Make>
auto deferred_init(Make&& make) {
  const runtime::RecordingScope scope;
  return std::forward<Make>(make)();
}

}  // namespace accel
