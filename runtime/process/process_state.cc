#include "runtime/process/process_state.h"

#include <mutex>
#include <stdexcept>

#include "runtime/comm/nccl_backend.h"
#include "runtime/process/read_environment.h"

namespace accel::runtime {
namespace {

c10::Device choose_device(const Environment& environment, bool cpu) {
  if (cpu) return c10::kCPU;
  const int gpus = load_cuda();
  if (gpus == 0) return c10::kCPU;
  const int index = environment.local_rank % gpus;
  // Selects the GPU before the first allocation, because that would otherwise take memory of GPU 0
  // in every process.
  use_gpu(index);
  return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(index));
}

// Loads the CUDA part before main(), because a program may ask LibTorch about GPUs before it makes
// an Accelerator. Does not load it if the environment selects the CPU.
[[maybe_unused]] const bool preloaded = [] {
  try {
    if (!read_environment().use_cpu) preload_cuda();
  } catch (const std::invalid_argument&) {
    // acquire() reports a bad environment.
  }
  return true;
}();

std::mutex mutex;
std::weak_ptr<ProcessState> living;

}  // namespace

std::shared_ptr<ProcessState> ProcessState::acquire(bool cpu, std::chrono::milliseconds timeout) {
  const std::lock_guard lock(mutex);
  Environment environment = read_environment();
  cpu = cpu || environment.use_cpu;
  if (std::shared_ptr<ProcessState> state = living.lock()) {
    if (state->cpu == cpu) return state;
    throw std::invalid_argument("this process already has an Accelerator with cpu = " +
                                std::string(state->cpu ? "true" : "false") +
                                ", which cannot be changed");
  }
  auto state = std::make_shared<ProcessState>();
  state->mesh = make_mesh(environment.world_size, /*shard=*/1, environment.rank);
  state->environment = std::move(environment);
  state->cpu = cpu;
  state->device = choose_device(state->environment, cpu);
  if (state->environment.world_size > 1) {
    state->communicator = Communicator::join(state->environment, state->device, timeout);
  }
  living = state;
  return state;
}

std::shared_ptr<ProcessState> ProcessState::find_living() {
  const std::lock_guard lock(mutex);
  return living.lock();
}

}  // namespace accel::runtime
