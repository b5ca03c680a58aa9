// What the shared object with the CUDA and NCCL code exports. It is loaded with dlopen, so that a
// CPU worker never maps the CUDA libraries.
#pragma once

#include <cstdint>

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace accel {

// GPUs that this process sees.
inline constexpr char kCountGpusSymbol[] = "accel_count_gpus";
using CountGpus = int (*)();

// Makes a GPU the one on which the calling thread works.
inline constexpr char kUseGpuSymbol[] = "accel_use_gpu";
using UseGpu = void (*)(int index);

// A new ProcessGroupNCCL; the caller owns one reference. The timeout is in milliseconds.
inline constexpr char kMakeNcclBackendSymbol[] = "accel_make_nccl_backend";
using MakeNcclBackend = c10d::Backend* (*)(c10d::Store* store, int rank, int size,
                                           std::int64_t timeout);

}  // namespace accel
