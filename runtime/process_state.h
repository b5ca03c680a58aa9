#pragma once

#include <c10/core/Device.h>

#include <chrono>
#include <memory>

#include "runtime/accumulation_scope.h"
#include "runtime/comm/communicator.h"
#include "runtime/core/environment.h"
#include "runtime/core/running_loops.h"
#include "runtime/optim/gradient_origin.h"
#include "runtime/parallel/prepared_models.h"

namespace accel {

class UnevenInputs;

// What all Accelerators of a process share. It lives as long as one of them, or anything they
// prepared, does: nothing distributed is left for static destruction.
struct ProcessState {
  Environment environment;
  bool cpu = false;  // As asked for when the state was made.
  c10::Device device{c10::kCPU};
  std::shared_ptr<Communicator> communicator;  // Null for a world of one.
  std::shared_ptr<RunningLoops> loaders = std::make_shared<RunningLoops>();
  bool triggered = false;  // set_trigger() was called and no check has seen it.
  PreparedModels models;   // They refer to the communicator, and go first.

  // Of prepared optimizers.
  std::shared_ptr<GradientRegistry> gradients = std::make_shared<GradientRegistry>();
  OpenBatches open_batches;  // Of accumulate().

  std::shared_ptr<UnevenInputs> uneven_inputs;  // Inside of join_uneven_inputs(), else null.

  // The living state, or a new one made from the environment: chooses the device and joins the
  // world. Throws std::invalid_argument for a bad environment or if the living state was made for
  // another `cpu`, and what Communicator::join() throws. Thread-safe.
  static std::shared_ptr<ProcessState> acquire(bool cpu, std::chrono::milliseconds timeout);
  // The living state, or null. Thread-safe.
  static std::shared_ptr<ProcessState> find_living();
};

}  // namespace accel
