// Collectives on GPUs, and the loading of the CUDA libraries on which they depend.
//
// A worker that uses no GPU must not map CUDA's libraries, which are large and slow to load. So all
// code that needs them is in a shared object (runtime/nccl/plugin.h). The object is loaded only if
// this machine seems to have a GPU.
#pragma once

#include <chrono>
#include <cstddef>

#include "runtime/comm/gloo_backend.h"
#include "runtime/core/environment.h"

namespace accel::runtime {

// Loads the shared object with the CUDA and NCCL code on the first call, and never unloads it.
// Returns the number of GPUs that this process sees. Returns 0 and loads nothing if may_have_gpu()
// is false. Must be called before the first use of a GPU. Thread-safe.
//
// Throws std::runtime_error if the shared object is missing or cannot be loaded. Its file is the
// one that ACCEL_NCCL_LIBRARY names. If that is not set, it is libaccel_nccl.so in the program's
// folder or runfiles.
int load_cuda();

// Loads the shared object as load_cuda() does, and leaves errors to the next call of load_cuda().
// Call it when the program starts. If LibTorch looks for GPUs before the load, as
// torch::manual_seed() makes it do, it finds none and keeps that answer.
void preload_cuda() noexcept;

// Makes GPU `index` the calling thread's device, so that "cuda" means this GPU and no other
// GPU's memory is used. `index` is less than load_cuda(). Throws std::runtime_error if this
// machine has no GPU.
void use_gpu(int index);

// Page-locks memory, so that GPUs can copy into it directly. Returns false, and changes nothing,
// if the driver refuses or this machine has no GPU. unlock_pages() must be called before the
// memory is released.
bool lock_pages(void* memory, std::size_t size);
void unlock_pages(void* memory);

// Makes NCCL's backend for collectives of CUDA tensors on the calling thread's GPU. Throws
// std::runtime_error if this machine has no GPU.
c10::intrusive_ptr<c10d::Backend> make_nccl_backend(const c10::intrusive_ptr<c10d::Store>& store,
                                                    const Environment& environment,
                                                    std::chrono::milliseconds timeout);

}  // namespace accel::runtime
