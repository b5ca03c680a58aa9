#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace accel {

// The random numbers of a sampler: a stream of its own, the same on every rank, although LibTorch's
// samplers draw from the process-wide CPU generator. Not thread-safe; while run() runs, no other
// thread may draw from that generator.
class SamplerRng {
 public:
  // Without a seed, samplers draw from the process-wide generator as it is.
  explicit SamplerRng(std::optional<std::uint64_t> seed) : seed_(seed) {}

  // Starts the stream of this epoch.
  void start(std::uint64_t epoch);

  // Runs `draw` on this stream.
  template <typename Draw>
  auto run(Draw&& draw) {
    const Scope scope(*this);
    return std::forward<Draw>(draw)();
  }

 private:
  // Puts the stream's state into the process-wide generator, and back.
  class Scope {
   public:
    explicit Scope(SamplerRng& rng);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    SamplerRng& rng_;
    at::Tensor others_;
  };

  const std::optional<std::uint64_t> seed_;
  at::Tensor state_;
};

// `count` indices below `size`, as torch.utils.data.RandomSampler draws them from `generator`,
// which it advances: whole permutations and then the first part of one more; or, with replacement,
// numbers in runs of 32.
std::vector<std::size_t> draw_random_order(at::Generator generator, std::size_t size,
                                           std::size_t count, bool replacement);

// A seed from the process-wide CPU generator, which it advances.
std::uint64_t draw_seed();

// What the process-wide CPU generator was seeded with last.
std::uint64_t initial_seed();

}  // namespace accel
