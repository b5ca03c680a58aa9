#pragma once

#include <chrono>

#include "runtime/comm/gloo_backend.h"
#include "runtime/core/environment.h"

namespace accel {

// Loads the shared object with the CUDA and NCCL code, once, and never unloads it. Returns the
// number of GPUs that this process sees; 0 where may_have_gpu() says no, in which case nothing is
// loaded. Throws std::runtime_error if there is a driver but the shared object (ACCEL_NCCL_LIBRARY,
// or libaccel_nccl.so beside the program or in its runfiles) is missing or broken. Call it before
// the first use of a GPU. Thread-safe.
int load_cuda();

// The loading alone, without errors: load_cuda() says them. For the start of a program: whatever
// asks LibTorch about GPUs before, torch::manual_seed() included, makes it forget them for good.
void preload_cuda() noexcept;

// Makes a GPU, of the load_cuda() ones, that of the calling thread: what it makes on "cuda" is made
// there, and no other GPU's memory is touched.
void use_gpu(int index);

// Collectives of CUDA tensors on the GPU in use. Throws std::runtime_error without one.
c10::intrusive_ptr<c10d::Backend> make_nccl_backend(const c10::intrusive_ptr<c10d::Store>& store,
                                                    const Environment& environment,
                                                    std::chrono::milliseconds timeout);

}  // namespace accel
