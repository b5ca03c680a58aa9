#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

namespace at {
struct Generator;
}

namespace accel::runtime {

// The random numbers of a dataset's transforms. The seed of the loader, the epoch and the place in
// the epoch determine them. So they do not depend on the thread that reads. Not thread-safe.
class TransformRng {
 public:
  // Without a seed, uses the process-wide generator. `position` is a place in the epoch, counted in
  // samples. `process` is the rank that reads.
  TransformRng(std::optional<std::uint64_t> seed, std::uint64_t epoch, std::uint64_t position = 0,
               std::uint64_t process = 0)
      : seed_(seed), parts_{epoch, position, process} {}

  at::Generator generator();

 private:
  const std::optional<std::uint64_t> seed_;
  const std::array<std::uint64_t, 3> parts_;
  // Made by the first call of generator().
  std::shared_ptr<at::Generator> generator_;
};

// While the scope lives, transform_generator() returns the generator of `random` in this thread. In
// a worker thread, LibTorch's operators use no further threads from then on.
class ReadScope {
 public:
  ReadScope(TransformRng& random, bool in_worker);
  ~ReadScope();
  ReadScope(const ReadScope&) = delete;
  ReadScope& operator=(const ReadScope&) = delete;

  // Returns the generator for this thread. Outside of any scope, returns the process-wide one.
  static at::Generator generator();

 private:
  TransformRng* const before_;
};

}  // namespace accel::runtime
