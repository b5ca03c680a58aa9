// What a data loader is made of.
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
#include "runtime/data/loader_context.h"

namespace accel {

// A sampler that makes the batches itself:
//   void reset();                                    before each epoch
//   std::optional<std::vector<std::size_t>> next();  the next batch, never an empty one
// and, where it has them:
//   std::size_t size() const;        batches of an epoch; needed by DataLoader::size()
//   std::size_t batch_size() const;  samples in each but the last batch; needed by split_batches
//   bool drop_last() const;          whether a short last batch is left out
//   void set_epoch(std::size_t);     before reset(): the number of the epoch
template <typename Sampler>
concept batch_sampler = requires(Sampler& sampler) {
  sampler.reset();
  { sampler.next() } -> std::same_as<std::optional<IndexBatch>>;
};

// A dataset that is asked for a number of samples, not for certain ones: a StatefulDataset, or a
// StreamDataset with a sampler of batch sizes.
template <typename Dataset>
inline constexpr bool stream_dataset =
    std::is_same_v<typename Dataset::BatchRequestType, std::size_t>;

// In the place of the sampler of a dataset that ends by itself.
struct NoSampler {};

template <typename Dataset, bool stateful = Dataset::is_stateful>
struct BatchOf {
  using type = typename Dataset::BatchType;
};
template <typename Dataset>
struct BatchOf<Dataset, true> {
  using type = typename Dataset::BatchType::value_type;
};

// Of torch's DataLoaderOptions, those that count here.
struct ReadOptions {
  std::size_t batch_size = 1;
  std::size_t workers = 0;
  std::size_t max_jobs = 0;  // Batches asked for ahead of the workers.
  std::optional<std::chrono::milliseconds> timeout;
  bool drop_last = false;
};

template <typename Dataset, typename Sampler>
struct DataSource {
  using Batch = typename BatchOf<Dataset>::type;

  Dataset dataset;
  Sampler sampler;
  ReadOptions options;
  std::weak_ptr<const EpochProgress> loop = {};  // Over any of the loaders that share this.

  bool drop_last() const {
    if constexpr (!batch_sampler<Sampler>) {
      return options.drop_last;
    } else if constexpr (requires { sampler.drop_last(); }) {
      return sampler.drop_last();
    } else {
      return false;
    }
  }

  // std::nullopt when batches differ in size on purpose.
  std::optional<std::size_t> batch_size() const {
    if constexpr (!batch_sampler<Sampler>) {
      return options.batch_size;
    } else if constexpr (requires { sampler.batch_size(); }) {
      return sampler.batch_size();
    } else {
      return std::nullopt;
    }
  }

  // Of a loop that begins now. What join_uneven_inputs() says is for loaders whose processes each
  // read their own samples.
  bool even_batches(const LoaderContext& context) const {
    if (stream_dataset<Dataset> || context.dispatch_batches.value_or(false)) {
      return context.even_batches;
    }
    return context.active->even_batches.value_or(context.even_batches);
  }

  ShardOptions shard_options(const LoaderContext& context) const {
    return {.num_processes = context.num_processes,
            .process_index = context.process_index,
            .batch_size = batch_size(),
            .split_batches = context.split_batches,
            // One process alone has nobody to be even with: its last batch stays short.
            .even_batches = even_batches(context) && context.num_processes > 1,
            .drop_last = drop_last()};
  }
};

}  // namespace accel
