#include "runtime/data/sampler_rng.h"

#include <ATen/CPUGeneratorImpl.h>

#include <mutex>

namespace accel {
namespace {

at::Generator process_generator() { return at::detail::getDefaultCPUGenerator(); }

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

std::uint64_t draw_seed() {
  at::Generator generator = process_generator();
  const std::lock_guard lock(generator.mutex());
  return at::check_generator<at::CPUGeneratorImpl>(generator)->random64();
}

}  // namespace accel
