// The functions of the shared object with the CUDA and NCCL code, by the names under which dlsym()
// finds them. dlopen() loads the object, so that a CPU worker never maps the CUDA libraries.
#pragma once

#include <cstddef>
#include <cstdint>

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace accel::runtime {

// Returns the number of GPUs that this process sees.
inline constexpr char kCountGpusSymbol[] = "accel_count_gpus";
using CountGpus = int (*)();

// Makes GPU `index` the calling thread's device.
inline constexpr char kUseGpuSymbol[] = "accel_use_gpu";
using UseGpu = void (*)(int index);

// Page-locks memory, so that GPUs can copy into it directly. Returns false if the driver refuses.
inline constexpr char kLockPagesSymbol[] = "accel_lock_pages";
using LockPages = bool (*)(void* memory, std::size_t size);
// Unlocks the memory. Must be called before the memory is released.
inline constexpr char kUnlockPagesSymbol[] = "accel_unlock_pages";
using UnlockPages = void (*)(void* memory);

// Returns a new ProcessGroupNCCL. The caller owns one reference. The timeout is in milliseconds.
inline constexpr char kMakeNcclBackendSymbol[] = "accel_make_nccl_backend";
using MakeNcclBackend = c10d::Backend* (*)(c10d::Store* store, int rank, int size,
                                           std::int64_t timeout);

}  // namespace accel::runtime
