#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "runtime/core/batch_sampler_shard.h"
#include "runtime/core/epoch_sequence.h"
#include "runtime/data/inner_batches.h"
#include "runtime/data/loader_context.h"

namespace accel::runtime {

// A sampler that makes the batches itself. It has
//   void reset();                                    called before each epoch
//   std::optional<std::vector<std::size_t>> next();  returns the next batch, never an empty one
// and may have
//   std::size_t size() const;        returns the batches of an epoch; DataLoader::size() needs it
//   std::size_t batch_size() const;  returns the samples of each batch but the last; split_batches
//                                    needs it
//   bool drop_last() const;          returns whether a short last batch is left out
//   void set_epoch(std::size_t);     called before reset() with the number of the epoch
template <typename Sampler>
concept batch_sampler = requires(Sampler& sampler) {
  sampler.reset();
  { sampler.next() } -> std::same_as<std::optional<IndexBatch>>;
};

// A dataset that returns a number of samples on request, and not certain ones: a StatefulDataset,
// or a StreamDataset with a sampler of batch sizes.
template <typename Dataset>
inline constexpr bool stream_dataset =
    std::is_same_v<typename Dataset::BatchRequestType, std::size_t>;

// Stands for the sampler of a dataset that ends by itself.
struct NoSampler {};

template <typename Dataset, bool stateful = Dataset::is_stateful>
struct BatchOf {
  using type = typename Dataset::BatchType;
};
template <typename Dataset>
struct BatchOf<Dataset, true> {
  using type = typename Dataset::BatchType::value_type;
};

// The members of torch::data::DataLoaderOptions that loaders use.
struct ReadOptions {
  std::size_t batch_size = 1;
  std::size_t workers = 0;
  // The number of batches that are requested ahead, by all workers together.
  std::size_t max_jobs = 0;
  std::optional<std::chrono::milliseconds> timeout;
  bool drop_last = false;
};

// The dataset and sampler that a data loader reads from, with its options. All loaders that
// prepare() makes of one loader share it.
template <typename Dataset, typename Sampler>
struct DataSource {
  using Batch = typename BatchOf<Dataset>::type;

  Dataset dataset;
  Sampler sampler;
  ReadOptions options;
  // The last loop that began over one of these loaders.
  std::weak_ptr<const EpochProgress> loop = {};

  bool drop_last() const {
    if constexpr (!batch_sampler<Sampler>) {
      return options.drop_last;
    } else if constexpr (requires { sampler.drop_last(); }) {
      return sampler.drop_last();
    } else {
      return false;
    }
  }

  // Returns std::nullopt if batches differ in size on purpose.
  std::optional<std::size_t> batch_size() const {
    if constexpr (!batch_sampler<Sampler>) {
      return options.batch_size;
    } else if constexpr (requires { sampler.batch_size(); }) {
      return sampler.batch_size();
    } else {
      return std::nullopt;
    }
  }

  // Returns true if a loop that begins now uses even_batches. join_uneven_inputs() changes this
  // only for loaders whose processes each read their own samples.
  bool even_batches(const LoaderContext& context) const {
    if (stream_dataset<Dataset> || context.dispatch_batches.value_or(false)) {
      return context.even_batches;
    }
    return context.loops->even_batches.value_or(context.even_batches);
  }

  ShardOptions shard_options(const LoaderContext& context) const {
    return {.num_processes = context.num_processes,
            .process_index = context.process_index,
            .batch_size = batch_size(),
            .split_batches = context.split_batches,
            // A world of one needs no even batches, so its last batch is not filled.
            .even_batches = even_batches(context) && context.num_processes > 1,
            .drop_last = drop_last()};
  }
};

// Returns the sampler of `source` for the epochs of its loops. `source` must outlive it.
template <typename Dataset, typename Sampler>
IndexSampler index_sampler(DataSource<Dataset, Sampler>& source) {
  Sampler& sampler = source.sampler;
  const auto set_epoch = [&sampler](std::size_t epoch) {
    if constexpr (requires { sampler.set_epoch(epoch); }) sampler.set_epoch(epoch);
  };
  if constexpr (batch_sampler<Sampler>) {
    return {.reset =
                [&sampler, set_epoch](std::size_t epoch) {
                  set_epoch(epoch);
                  sampler.reset();
                },
            .next = [&sampler](std::size_t) { return sampler.next(); },
            .batch_size = std::nullopt};
  } else {
    return {.reset =
                [&sampler, set_epoch](std::size_t epoch) {
                  set_epoch(epoch);
                  sampler.reset(std::nullopt);
                },
            .next = [&sampler](std::size_t count) -> std::optional<IndexBatch> {
              return sampler.next(count);
            },
            .batch_size = source.options.batch_size,
            .drop_last = source.drop_last()};
  }
}

}  // namespace accel::runtime
