#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <array>
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

// The random numbers of what a dataset does to its samples while it reads: a stream that the
// loader's seed, the epoch, and where in the epoch it begins determine, whatever thread reads. Not
// thread-safe.
class TransformRng {
 public:
  // Without a seed it is the process-wide generator. `position`: samples of the epoch; `process`:
  // whose share of them.
  TransformRng(std::optional<std::uint64_t> seed, std::uint64_t epoch, std::uint64_t position = 0,
               std::uint64_t process = 0)
      : seed_(seed), parts_{epoch, position, process} {}

  at::Generator generator();

 private:
  const std::optional<std::uint64_t> seed_;
  const std::array<std::uint64_t, 3> parts_;
  std::optional<at::Generator> generator_;  // Made when it is first asked for.
};

// While it lives, this thread reads: transform_generator() is that of `random`. In a worker thread,
// LibTorch's operators run in that thread alone from then on.
class ReadScope {
 public:
  ReadScope(TransformRng& random, bool in_worker);
  ~ReadScope();
  ReadScope(const ReadScope&) = delete;
  ReadScope& operator=(const ReadScope&) = delete;

 private:
  TransformRng* const before_;
};

// The generator for random transforms of datasets that accel's loaders read:
//
//   return image + 0.1 * torch::randn(image.sizes(), accel::transform_generator());
//
// In a prepared loader its numbers are the same in each run and with any number of workers. Of a
// dataset with indices they depend on the seed, the epoch and the place of the batch; of a stream
// they go on from the epoch's first sample to its last. Anywhere else it is the process-wide CPU
// generator, whose numbers threads share as it happens.
at::Generator transform_generator();

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
