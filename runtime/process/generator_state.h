// LibTorch's process-wide random number generators: one of the CPU, and one of each GPU.
#pragma once

#include <cstdint>
#include <vector>

namespace at {
class Tensor;
}
namespace c10 {
struct Device;
}

namespace accel {

class Communicator;

// The state of a device's generator, as bytes on the CPU that are nobody else's.
at::Tensor generator_state(const c10::Device& device);
// Throws c10::Error for bytes that are no state of such a generator.
void set_generator_state(const c10::Device& device, const at::Tensor& state);

// Gives every rank the states of rank 0's generators of `devices`, of which there is at least one.
// `device` is the communicator's. Collective: one broadcast.
void synchronize_generators(Communicator& communicator, const c10::Device& device,
                            const std::vector<c10::Device>& devices);

// Seeds all of them.
void seed_generators(std::uint64_t seed);

}  // namespace accel
