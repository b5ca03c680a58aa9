#include "runtime/nccl/plugin.h"

#include <c10/cuda/CUDAFunctions.h>
#include <cuda_runtime_api.h>

#include <chrono>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#include <type_traits>

#include "runtime/nccl/watchdog_settings.h"

// The types that nccl_backend.cc casts the symbols to. A definition that differs does not compile.
extern "C" {
std::remove_pointer_t<accel::runtime::CountGpus> accel_count_gpus;
std::remove_pointer_t<accel::runtime::UseGpu> accel_use_gpu;
std::remove_pointer_t<accel::runtime::LockPages> accel_lock_pages;
std::remove_pointer_t<accel::runtime::UnlockPages> accel_unlock_pages;
std::remove_pointer_t<accel::runtime::MakeNcclBackend> accel_make_nccl_backend;
}

extern "C" int accel_count_gpus() { return c10::cuda::device_count(); }

extern "C" void accel_use_gpu(int index) {
  c10::cuda::set_device(static_cast<c10::DeviceIndex>(index));
}

// Memory that is locked for one GPU is locked for all with this flag.
extern "C" bool accel_lock_pages(void* memory, std::size_t size) {
  if (cudaHostRegister(memory, size, cudaHostRegisterPortable) == cudaSuccess) return true;
  static_cast<void>(cudaGetLastError());  // Otherwise the next call of CUDA would report it.
  return false;
}

extern "C" void accel_unlock_pages(void* memory) {
  if (cudaHostUnregister(memory) != cudaSuccess) static_cast<void>(cudaGetLastError());
}

extern "C" c10d::Backend* accel_make_nccl_backend(c10d::Store* store, int rank, int size,
                                                  std::int64_t timeout) {
  accel::runtime::quiet_nccl_watchdog();
  // High priority, because otherwise a reduction of gradients waits until the backward pass leaves
  // room on the GPU.
  auto options = c10d::ProcessGroupNCCL::Options::create(/*is_high_priority_stream=*/true);
  options->timeout = std::chrono::milliseconds(timeout);
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(
             c10::intrusive_ptr<c10d::Store>::reclaim_copy(store), rank, size, options)
      .release();
}
