#include "runtime/data/sampler_rng.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randperm.h>
#include <dlfcn.h>

#include <mutex>
#include <utility>

namespace accel {
namespace {

at::Generator process_generator() { return at::detail::getDefaultCPUGenerator(); }

// SplitMix64: neighbouring numbers become unrelated seeds.
std::uint64_t scrambled(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

thread_local TransformRng* reading = nullptr;

// Threads that read are as many as were asked for: none of them opens a team of more. (What
// at::set_num_threads() sets is not this thread's alone.)
void work_alone() {
  thread_local bool done = false;
  if (std::exchange(done, true)) return;
  at::get_num_threads();  // Sets this thread's number the first time, and not again.
  using SetNumThreads = void(int);
  if (auto* set = reinterpret_cast<SetNumThreads*>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"))) {
    set(1);
  }
}

}  // namespace

void SamplerRng::start(std::uint64_t epoch) {
  if (!seed_) return;
  at::Generator fresh = at::detail::createCPUGenerator(*seed_ + epoch);
  state_ = fresh.get_state();
}

SamplerRng::Scope::Scope(SamplerRng& rng) : rng_(rng) {
  if (!rng_.seed_) return;
  at::Generator generator = process_generator();
  others_ = generator.get_state();
  generator.set_state(rng_.state_);
}

SamplerRng::Scope::~Scope() {
  if (!rng_.seed_) return;
  at::Generator generator = process_generator();
  rng_.state_ = generator.get_state();
  generator.set_state(others_);
}

at::Generator TransformRng::generator() {
  if (!seed_) return process_generator();
  if (!generator_) {
    std::uint64_t seed = scrambled(*seed_);
    for (const std::uint64_t part : parts_) seed = scrambled(seed ^ part);
    generator_ = at::detail::createCPUGenerator(seed);
  }
  return *generator_;
}

ReadScope::ReadScope(TransformRng& random, bool in_worker)
    : before_(std::exchange(reading, &random)) {
  if (in_worker) work_alone();
}

ReadScope::~ReadScope() { reading = before_; }

at::Generator transform_generator() {
  return reading != nullptr ? reading->generator() : process_generator();
}

std::vector<std::size_t> draw_random_order(at::Generator generator, std::size_t size,
                                           std::size_t count, bool replacement) {
  const auto high = static_cast<std::int64_t>(size);
  const std::size_t run = replacement ? 32 : size;
  std::vector<std::size_t> order;
  order.reserve(count);
  const auto draw = [&](std::size_t wanted) {
    const at::Tensor drawn =
        replacement ? at::randint(high, {static_cast<std::int64_t>(wanted)}, generator, at::kLong)
                    : at::randperm(high, generator, at::kLong);
    const auto* values = drawn.const_data_ptr<std::int64_t>();
    order.insert(order.end(), values, values + wanted);
  };
  for (std::size_t i = 0; i < count / run; ++i) draw(run);
  draw(count % run);  // Also when it gives nothing: Python's generator goes on as well.
  return order;
}

std::uint64_t draw_seed() {
  at::Generator generator = process_generator();
  const std::lock_guard lock(generator.mutex());
  return at::check_generator<at::CPUGeneratorImpl>(generator)->random64();
}

std::uint64_t initial_seed() { return process_generator().current_seed(); }

}  // namespace accel
