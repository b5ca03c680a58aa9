#include "runtime/process/generator_state.h"

#include <ATen/Context.h>

#include <mutex>

#include "runtime/comm/communicator.h"

namespace accel::runtime {

at::Tensor generator_state(const c10::Device& device) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard lock(generator.mutex());
  return generator.get_state();
}

void set_generator_state(const c10::Device& device, const at::Tensor& state) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard lock(generator.mutex());
  generator.set_state(state);
}

void synchronize_generators(Communicator& communicator, const std::vector<c10::Device>& devices) {
  std::vector<at::Tensor> states;
  for (const c10::Device& device : devices) states.push_back(generator_state(device));
  communicator.broadcast(states);
  for (std::size_t i = 0; i < devices.size(); ++i) set_generator_state(devices[i], states[i]);
}

void seed_generators(std::uint64_t seed) { at::manual_seed(seed); }

}  // namespace accel::runtime
