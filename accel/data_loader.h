// accel's data loader.
//
// make_data_loader() makes a loader from a torch::data dataset and a sampler, as
// torch::data::make_data_loader() does. Accelerator::prepare() returns a loader of the same dataset
// that yields this process's share of each epoch, on the device of the process:
//
//   auto loader = accelerator.prepare(accel::make_data_loader(dataset, 64));
//   for (const std::size_t epoch : loader.epochs(10)) {
//     for (auto& batch : loader) { ... }
//   }
//
// Torch's own loaders hide their dataset and sampler, so they can neither be divided among
// processes nor resume in the middle of an epoch. This loader does both without communication. All
// ranks have the same seed, so all draw the same order, and each picks its own share of the
// samples. A sample passes through these pieces, in this order:
// clang-format off
//
//   sampler          draws the indices of an epoch from its own random stream
//                    (runtime/data/sampler_rng.h, inner_batches.h)
//   shard            picks the indices that this process reads, by pure arithmetic
//                    (runtime/core/batch_sampler_shard.h; for streams, iterable_shard.h)
//   dataset          is read, by the loop's own thread or by worker threads ahead of it
//                    (runtime/data/map_stream.h, iterable_stream.h, read_ahead.h)
//   dispatch         if rank 0 reads for all ranks, each step makes a broadcast and a scatter of
//                    each tensor (runtime/data/dispatched_stream.h)
//   device transfer  copies the batch while the one before it is processed
//                    (runtime/data/device_transfer.h)
//   loop             hands out one batch per step, after it has read the next one, because it
//                    must know which batch is the last (runtime/data/epoch_loop.h)
// clang-format on
//
// The position in an epoch is a single number: how many samples all processes together
// have seen. It does not depend on the number of processes or on the batch size. A
// checkpoint holds epoch, seed and this number, so it can be resumed with another number
// of processes (runtime/core/epoch_sequence.h).
#pragma once

#include <torch/data/dataloader_options.h>
#include <torch/data/samplers/distributed.h>
#include <torch/data/samplers/random.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "accel/any_loader.h"
#include "accel/loader_epochs.h"
#include "accel/transform_generator.h"
#include "runtime/core/batch_sampler_shard.h"
#include "runtime/core/dispatch_rounds.h"
#include "runtime/core/iterable_shard.h"
#include "runtime/data/data_source.h"
#include "runtime/data/dispatched_stream.h"
#include "runtime/data/epoch_loop.h"
#include "runtime/data/iterable_stream.h"
#include "runtime/data/loader_context.h"
#include "runtime/data/map_stream.h"

namespace accel {

// A data loader: a holder, like LibTorch's modules, so copies are the same loader. A prepared
// loader shares the dataset and sampler of the loader that prepare() was given. Only one of the two
// can be in a loop at a time. Not thread-safe.
//
// Before prepare(), a loader yields every batch. A prepared loader yields this process's share, on
// the device. Its batch_size is per process, or the sum over all processes with split_batches. If
// the sampler shuffles, each epoch has another order, which is the same on all ranks. Batches come
// in the sampler's order, because DataLoaderOptions::enforce_ordering is ignored.
//
// A dataset whose samples have indices is read through a sampler of indices, or through a
// batch sampler, which makes the batches itself (runtime/data/data_source.h). Each process
// reads only its share.
//
// A stream is a dataset that is asked for a number of samples: torch's StatefulDataset, or a
// StreamDataset with a StreamSampler. A StatefulDataset ends an epoch with std::nullopt; an empty
// batch does not end it. Each process reads the whole stream and keeps its share. With
// dispatch_batches, only rank 0 reads.
//
// If DataLoaderOptions::workers is 0, the thread of the loop reads. Otherwise that many threads
// read ahead of the loop, but a stream has only one such thread.
template <typename Dataset, typename Sampler>
class DataLoader : public LoaderEpochs {
 public:
  using Batch = typename runtime::BatchOf<Dataset>::type;

  // Makes an empty holder, for members that are assigned later. Methods throw std::logic_error.
  DataLoader() = default;
  DataLoader(Dataset dataset, Sampler sampler, torch::data::DataLoaderOptions options)
      : source_(std::make_shared<runtime::DataSource<Dataset, Sampler>>(
            runtime::DataSource<Dataset, Sampler>{std::move(dataset), std::move(sampler),
                                                  read_options(options)})) {}

  using Iterator = runtime::LoaderIterator<Batch>;

  // Begins an epoch. Throws std::logic_error inside a loop over this loader, or over one with the
  // same dataset and sampler.
  //
  // begin() and each step of the loop throw the exception of the dataset or sampler for the batch
  // that is due, which ends the epoch. They throw std::invalid_argument if worker threads need
  // copies of a dataset that cannot be copied, and std::runtime_error after
  // DataLoaderOptions::timeout. The timeout is thrown only when the pending reads have returned. A
  // read that never returns blocks the program, which then logs a line to standard error.
  //
  // With AcceleratorOptions::rng_types, begin() is collective: one broadcast. With dispatch_batches
  // each step is collective too. A failed read of rank 0, or a lost peer, is then a
  // CommunicationError on the other ranks.
  Iterator begin() {
    if (const auto loop = source().loop.lock(); loop != nullptr && !loop->done) {
      throw std::logic_error(
          "this loader, or another one with its dataset and sampler, is already in a loop: leave "
          "that loop first");
    }
    if (context_.before_epoch) context_.before_epoch();
    auto running = sequence_->begin();
    source().loop = running;
    const runtime::EpochStart start{.number = running->number,
                                    .samples = running->step.seen_samples,
                                    .steps = running->step.seen_samples > 0 ? 0 : skipped_steps_,
                                    .seed = sequence_->seed()};
    return Iterator(std::make_shared<runtime::EpochLoop<Batch>>(
        open(start), context_.transfer, context_.loops, std::move(running)));
  }
  std::default_sentinel_t end() { return {}; }
  // Returns the loader itself, so that LibTorch's loop `for (auto& batch : *loader)` compiles.
  DataLoader& operator*() { return *this; }

  // Returns the number of batches that this process gets in a whole epoch, without those that
  // skip_first_batches() skips. Uses the sampler's size() if it has one. Otherwise a sampler of
  // single samples is assumed to yield each sample of the dataset once. Throws std::logic_error if
  // neither has a size, if a batch sampler has no size(), or if the number depends on the size of a
  // batch sampler's last batch.
  std::size_t size() const {
    const std::size_t batches = whole_size();
    return batches - std::min(batches, skipped_steps_);
  }

  // Returns size(), or std::nullopt if that throws.
  std::optional<std::size_t> known_size() const {
    try {
      return size();
    } catch (const std::logic_error&) {
      return std::nullopt;
    }
  }

  bool is_prepared() const { return context_.prepared; }

  // Returns the share of this process. Called by Accelerator::prepare().
  DataLoader sharded(runtime::LoaderContext context) const {
    if constexpr (std::derived_from<Sampler, torch::data::samplers::DistributedSampler<>>) {
      throw std::invalid_argument(
          "prepare() divides the samples among the ranks, and so does a DistributedSampler: give "
          "the loader a RandomSampler or a SequentialSampler");
    }
    DataLoader loader(*this);
    loader.context_ = std::move(context);
    loader.sequence_ = std::make_shared<runtime::EpochSequence>(loader.context_.seed);
    runtime::check_shard_options(source().shard_options(loader.context_));
    if (loader.dispatched() && !fixed_tensors<Batch>) {
      throw std::invalid_argument(
          "dispatch_batches needs batches that are tensors: map the dataset with "
          "torch::data::transforms::Stack");
    }
    return loader;
  }

  // See skip_first_batches() below.
  DataLoader skipping(std::size_t steps) const {
    DataLoader loader(*this);
    loader.skipped_steps_ += steps;
    return loader;
  }

 private:
  static runtime::ReadOptions read_options(const torch::data::DataLoaderOptions& options) {
    const torch::data::FullDataLoaderOptions full(options);
    return {.batch_size = full.batch_size,
            .workers = full.workers,
            .max_jobs = full.max_jobs,
            .timeout = full.timeout,
            .drop_last = full.drop_last};
  }

  using Local = std::conditional_t<runtime::stream_dataset<Dataset>,
                                   runtime::IterableStream<Dataset, Sampler>,
                                   runtime::MapStream<Dataset, Sampler>>;

  bool dispatched() const {
    return context_.num_processes > 1 &&
           context_.dispatch_batches.value_or(runtime::stream_dataset<Dataset> &&
                                              fixed_tensors<Batch>);
  }

  std::unique_ptr<runtime::BatchStream<Batch>> open(const runtime::EpochStart& start) const {
    if constexpr (fixed_tensors<Batch>) {
      if (dispatched()) {
        typename runtime::DispatchedStream<Batch>::Open open_global;
        if (context_.process_index == 0) {
          open_global = [source = source_, context = context_, start] {
            return std::make_unique<Local>(source, context, start, /*dispatched=*/true);
          };
        }
        return std::make_unique<runtime::DispatchedStream<Batch>>(std::move(open_global), context_,
                                                                  source().shard_options(context_));
      }
    }
    return std::make_unique<Local>(source_, context_, start, /*dispatched=*/false);
  }

  std::size_t whole_size() const {
    const runtime::ShardOptions options = source().shard_options(context_);
    if constexpr (runtime::stream_dataset<Dataset>) {
      return runtime::iterable_length(options, sample_count(), dispatched());
    } else {
      const auto [batches, last_batch_size] = count_batches();
      return dispatched() ? runtime::dispatch_length(options, batches, last_batch_size)
                          : runtime::shard_length(options, batches, last_batch_size);
    }
  }

  // Returns how many batches the sampler yields, and the size of the last one.
  std::pair<std::size_t, std::size_t> count_batches() const {
    if constexpr (runtime::batch_sampler<Sampler>) {
      const bool matters = !source().drop_last() && context_.num_processes > 1 &&
                           !source().even_batches(context_) &&
                           (context_.split_batches || dispatched());
      if (matters)
        throw std::logic_error("only the batch sampler knows the size of its last batch");
      if constexpr (requires { source().sampler.size(); }) {
        return {source().sampler.size(), source().batch_size().value_or(1)};
      } else {
        throw std::logic_error(
            "the size of this loader is unknown: its batch sampler has no size()");
      }
    } else {
      const auto [samples, batch_size] = std::pair(sample_count(), source().options.batch_size);
      const std::size_t rest = samples % batch_size;
      const bool short_batch = rest != 0 && !source().options.drop_last;
      return {samples / batch_size + (short_batch ? 1 : 0), short_batch ? rest : batch_size};
    }
  }

  std::size_t sample_count() const {
    if constexpr (requires(const Sampler& sampler) { sampler.size(); }) {
      return source().sampler.size();
    } else {
      const std::optional<std::size_t> size = source().dataset.size();
      if (!size) throw std::logic_error("the size of this loader is unknown: its dataset has none");
      return *size;
    }
  }

  runtime::DataSource<Dataset, Sampler>& source() const {
    if (source_ == nullptr) {
      throw std::logic_error(
          "this loader is empty: assign what make_data_loader() or prepare() returns first");
    }
    return *source_;
  }

  std::shared_ptr<runtime::DataSource<Dataset, Sampler>> source_;
  runtime::LoaderContext context_;
  std::size_t skipped_steps_ = 0;
};

// Returns the same loader, but its loops skip their first `steps` batches. Skipped batches of a
// dataset with indices are not read; those of a stream are read and dropped. Both loaders share one
// count of epochs. A loop that resumes an epoch from a checkpoint skips only the samples that were
// seen, not `steps` batches in addition. So a program that skips the seen steps itself, as Python
// programs do, is correct too.
template <typename Dataset, typename Sampler>
DataLoader<Dataset, Sampler> skip_first_batches(const DataLoader<Dataset, Sampler>& loader,
                                                std::size_t steps) {
  return loader.skipping(steps);
}
template <typename Batch>
AnyLoader<Batch> skip_first_batches(const AnyLoader<Batch>& loader, std::size_t steps) {
  return loader.skipping(steps);
}

// Returns a loader for any dataset and sampler of torch::data, or for a batch sampler; the
// arguments are those of torch::data::make_data_loader().
//
// These functions are constrained so that overload resolution prefers them to torch's own, which it
// finds by argument-dependent lookup of torch::data::DataLoaderOptions.
template <typename Dataset, typename Sampler>
requires std::move_constructible<Dataset> DataLoader<Dataset, Sampler> make_data_loader(
    Dataset dataset, Sampler sampler, torch::data::DataLoaderOptions options) {
  return DataLoader<Dataset, Sampler>(std::move(dataset), std::move(sampler), options);
}

template <typename Sampler = torch::data::samplers::RandomSampler, typename Dataset>
requires(!Dataset::is_stateful && std::is_constructible_v<Sampler, std::size_t>)
    DataLoader<Dataset, Sampler> make_data_loader(Dataset dataset,
                                                  torch::data::DataLoaderOptions options = {}) {
  const auto size = dataset.size();
  if (!size) throw std::logic_error("a dataset without a size needs an explicit sampler");
  return DataLoader<Dataset, Sampler>(std::move(dataset), Sampler(*size), options);
}

// The same for a StatefulDataset, which needs no sampler.
template <typename Dataset, typename = void>
requires(Dataset::is_stateful) DataLoader<Dataset, runtime::NoSampler> make_data_loader(
    Dataset dataset, torch::data::DataLoaderOptions options = {}) {
  return DataLoader<Dataset, runtime::NoSampler>(std::move(dataset), runtime::NoSampler{}, options);
}

}  // namespace accel
