// Builds a model without memory, and initialises it in prepare(). See docs/sharded.md.
#pragma once

#include <utility>

#include "runtime/recording/recorder.h"

namespace accel {

// Returns what `make` returns, such as a model, whose initialisation is deferred: the operators
// that `make` calls on this thread are recorded, and tensors that they make have shapes and no
// memory. The constructor need not know of this.
//
//   Net net = accel::deferred_init([] { return Net(); });
//   auto model = accelerator.prepare(net);
//
// prepare() executes the operators, one tensor at a time. Each rank keeps its part of a sharded
// model, with the random numbers of rank 0, and all of another model. The result, and the state of
// LibTorch's generator after it, are those of a model that was built as usual, bit by bit.
// The program should draw no random numbers of the CPU between this call and prepare(): they would
// be the same as those of the model, and the generator would remain behind them.
//
// Only parameters and buffers get values, and prepare() must come before any use of them. What
// `make` calls may be anything but:
// - item() and other reads of values, generators other than the default one, devices other than
//   the CPU, sparse tensors, and operators that LibTorch has not implemented without memory, such
//   as nonzero() and multinomial(): std::invalid_argument or c10::Error;
// - initialisation that follows the return of `make`, or other uses before prepare():
//   std::logic_error.
template <typename Make>
auto deferred_init(Make&& make) {
  const runtime::RecordingScope scope;
  return std::forward<Make>(make)();
}

}  // namespace accel
