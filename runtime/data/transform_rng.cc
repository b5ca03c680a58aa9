#include "runtime/data/transform_rng.h"

#include <dlfcn.h>

#include <utility>

#include "runtime/data/libtorch.h"

namespace accel::runtime {
namespace {

// SplitMix64, which turns neighbouring numbers into unrelated seeds.
std::uint64_t scrambled(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

thread_local TransformRng* reading = nullptr;

// The user chooses how many threads read, so none of these threads starts a team of OpenMP threads.
// at::set_num_threads() would change the number for other threads too. So this calls OpenMP, which
// keeps a number for each thread.
void use_this_thread_alone() {
  thread_local bool done = false;
  if (std::exchange(done, true)) return;
  // Makes LibTorch set this thread's number now, because it does so at the first call.
  at::get_num_threads();
  using SetNumThreads = void(int);
  if (auto* set = reinterpret_cast<SetNumThreads*>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"))) {
    set(1);
  }
}

}  // namespace

at::Generator TransformRng::generator() {
  if (!seed_) return at::detail::getDefaultCPUGenerator();
  if (!generator_) {
    std::uint64_t seed = scrambled(*seed_);
    for (const std::uint64_t part : parts_) seed = scrambled(seed ^ part);
    generator_ = std::make_shared<at::Generator>(at::detail::createCPUGenerator(seed));
  }
  return *generator_;
}

ReadScope::ReadScope(TransformRng& random, bool in_worker)
    : before_(std::exchange(reading, &random)) {
  if (in_worker) use_this_thread_alone();
}

ReadScope::~ReadScope() { reading = before_; }

at::Generator ReadScope::generator() {
  return reading != nullptr ? reading->generator() : at::detail::getDefaultCPUGenerator();
}

}  // namespace accel::runtime
