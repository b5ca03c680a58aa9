#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace accel::runtime {

// The random numbers of a sampler. They are the same on every rank, and independent of what the
// program draws. LibTorch's samplers draw only from the process-wide CPU generator. So run() puts
// this stream's state into that generator while a sampler draws, and then restores the previous
// state. Not thread-safe. While run() runs, no other thread may draw from that generator.
class SamplerRng {
 public:
  // Without a seed, samplers draw from the process-wide generator itself.
  explicit SamplerRng(std::optional<std::uint64_t> seed) : seed_(seed) {}

  // Starts the stream of this epoch.
  void start(std::uint64_t epoch);

  // Returns what `draw` returns, run on this stream.
  template <typename Draw>
  auto run(Draw&& draw) {
    const Scope scope(*this);
    return std::forward<Draw>(draw)();
  }

 private:
  class Scope {
   public:
    explicit Scope(SamplerRng& rng);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    SamplerRng& rng_;
    // The previous state of the process-wide generator.
    at::Tensor others_;
  };

  const std::optional<std::uint64_t> seed_;
  at::Tensor state_;
};

// Returns `count` indices below `size`, as torch.utils.data.RandomSampler draws them from
// `generator`, and advances the generator. Without `replacement` the indices are whole
// permutations, followed by the first part of one more. With it, they are numbers that are drawn 32
// at a time.
std::vector<std::size_t> draw_random_order(at::Generator generator, std::size_t size,
                                           std::size_t count, bool replacement);

// Draws a seed from the process-wide CPU generator.
std::uint64_t draw_seed();

// Returns the seed that the process-wide CPU generator was set to last.
std::uint64_t initial_seed();

}  // namespace accel::runtime
