#include "runtime/data/sampler_rng.h"

#include <mutex>

#include "runtime/data/libtorch.h"

namespace accel::runtime {
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
  // Called also if it draws nothing, because it advances the generator, as Python's sampler does.
  draw(count % run);
  return order;
}

std::uint64_t draw_seed() {
  at::Generator generator = process_generator();
  const std::lock_guard lock(generator.mutex());
  return at::check_generator<at::CPUGeneratorImpl>(generator)->random64();
}

std::uint64_t initial_seed() { return process_generator().current_seed(); }

}  // namespace accel::runtime
