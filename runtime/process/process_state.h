// The world of this process: its environment, device, communicator and prepared models.
#pragma once

#include <chrono>
#include <memory>

#include "runtime/comm/communicator.h"
#include "runtime/core/environment.h"
#include "runtime/core/mesh.h"
#include "runtime/core/running_loops.h"
#include "runtime/optim/gradient_origin.h"
#include "runtime/parallel/prepared_models.h"
#include "runtime/step/open_batches.h"

namespace accel::runtime {

class UnevenInputs;

// The state that all Accelerators of a process share. It lives as long as any Accelerator or
// prepared object, so the world is left before static destruction. Not thread-safe, except where a
// method says so.
struct ProcessState {
  Environment environment;
  // The division of the samples among the processes, each of which trains on different ones.
  // Sharded models have their own meshes (make_sharded.h).
  Mesh mesh;
  // True if the first Accelerator or the environment asked for the CPU.
  bool cpu = false;
  c10::Device device{c10::kCPU};
  std::shared_ptr<Communicator> communicator;  // Null for one process.
  std::shared_ptr<RunningLoops> loaders = std::make_shared<RunningLoops>();
  // True between set_trigger() on this rank and the next check_trigger().
  bool triggered = false;
  // The models refer to the communicator, so they are declared after it and destroyed before it.
  PreparedModels models;

  // The origins of the gradients of prepared optimizers.
  std::shared_ptr<GradientRegistry> gradients = std::make_shared<GradientRegistry>();
  OpenBatches open_batches;  // Begun by accumulate().

  std::shared_ptr<UnevenInputs> uneven_inputs;  // Null outside of join_uneven_inputs().

  // Returns the existing state, or makes one from the environment, which chooses the device and
  // joins the world. Throws std::invalid_argument for a bad environment, or if the existing state
  // was made with another `cpu`. Also throws what Communicator::join() throws. Thread-safe.
  static std::shared_ptr<ProcessState> acquire(bool cpu, std::chrono::milliseconds timeout);
  // Returns the existing state, or null. Thread-safe.
  static std::shared_ptr<ProcessState> find_living();
};

}  // namespace accel::runtime
