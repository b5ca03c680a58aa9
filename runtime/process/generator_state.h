// LibTorch's process-wide random number generators: one for the CPU, and one for each GPU. Reading
// or setting the state of one generator is thread-safe; the other functions are not.
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

// Returns a copy of the state of a device's generator, as bytes on the CPU.
at::Tensor generator_state(const c10::Device& device);
// Sets the state. Throws c10::Error for bytes that are not the state of such a generator.
void set_generator_state(const c10::Device& device, const at::Tensor& state);

// Copies the states of rank 0's generators of `devices`, at least one, to every rank. Collective:
// one broadcast.
void synchronize_generators(Communicator& communicator, const std::vector<c10::Device>& devices);

// Seeds the generators of all devices.
void seed_generators(std::uint64_t seed);

}  // namespace accel::runtime
