#include "runtime/checkpoint/random_state.h"

#include "accel/errors.h"
#include "runtime/process/generator_state.h"

namespace accel::runtime {
namespace {

constexpr char kCpu[] = "torch_manual_seed", kCuda[] = "torch_cuda_manual_seed";
constexpr std::int64_t kCudaBytes = 16;  // A seed and an offset, 8 bytes each.

}  // namespace

torch::Tensor random_state(c10::Device device) {
  const torch::Tensor cpu = generator_state(c10::kCPU);
  return device.is_cuda() ? torch::cat({cpu, generator_state(device)}) : cpu;
}

NamedTensors random_state_tensors(const torch::Tensor& row, c10::DeviceType device) {
  if (device != c10::kCUDA) return {{kCpu, row}};
  const std::int64_t cpu_bytes = row.size(0) - kCudaBytes;
  return {{kCpu, row.narrow(0, 0, cpu_bytes)}, {kCuda, row.narrow(0, cpu_bytes, kCudaBytes)}};
}

void restore_random_state(const std::filesystem::path& file, c10::Device device) {
  const TensorFileReader reader(file);
  const auto restore = [&](const char* name, c10::Device of) {
    const weights::SafetensorsEntry* entry = reader.header().find(name);
    if (entry == nullptr) return false;
    set_generator_state(of, reader.read(*entry));
    return true;
  };
  if (!restore(kCpu, c10::kCPU)) throw CheckpointError(file.string() + ": it lacks " + kCpu);
  if (device.is_cuda()) restore(kCuda, device);
}

}  // namespace accel::runtime
