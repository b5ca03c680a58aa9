// LibTorch's process-wide random number generators: one of the CPU, and one of each GPU. Not
// thread-safe, except for reading and setting one generator's state.
#pragma once

#include <cstdint>
#include <vector>

namespace at {
class Tensor;
}
namespace c10 {
struct Device;
}

namespace accel::runtime {

class Communicator;

// Returns the state of a device's generator, as bytes on the CPU that share no memory.
at::Tensor generator_state(const c10::Device& device);
// Sets it. Throws c10::Error for bytes that are not the state of such a generator.
void set_generator_state(const c10::Device& device, const at::Tensor& state);

// Copies the states of rank 0's generators of `devices`, at least one, to every rank. `device` is
// the communicator's. Collective: one broadcast.
void synchronize_generators(Communicator& communicator, const c10::Device& device,
                            const std::vector<c10::Device>& devices);

// Seeds all generators.
void seed_generators(std::uint64_t seed);

}  // namespace accel::runtime
