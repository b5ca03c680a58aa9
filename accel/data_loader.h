// accel's data loader: made like torch's, from a torch::data dataset and sampler, and sharded by
// prepare().
#pragma once

#include <torch/data/dataloader.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "runtime/core/batch_sampler_shard.h"
#include "runtime/core/dispatch_rounds.h"
#include "runtime/core/epoch_sequence.h"
#include "runtime/core/iterable_shard.h"
#include "runtime/data/batch.h"
#include "runtime/data/data_source.h"
#include "runtime/data/dispatched_stream.h"
#include "runtime/data/epoch_loop.h"
#include "runtime/data/iterable_stream.h"
#include "runtime/data/loader_context.h"
#include "runtime/data/map_stream.h"

namespace accel {

// A holder, like LibTorch's modules: copies are the same loader, and what prepare() makes of it has
// the same dataset and sampler. One loop over all of these at a time; not thread-safe.
//
// Before prepare() it yields every batch. After it, this process's share, already on the device;
// batch_size then counts per process, or over all of them with split_batches. Each loop is an epoch
// of its own order if the sampler shuffles, and all ranks see the same order. The loop after one
// that was left early is the next epoch; see state_dict() for what is saved between them. Batches
// come in the sampler's order, whatever DataLoaderOptions::enforce_ordering says.
//
// Datasets whose samples have indices are read through a sampler of indices, or one that makes the
// batches itself (see batch_sampler); of these each process reads its own share only. Streams are
// datasets that are asked for a number of samples: torch's StatefulDataset, which std::nullopt ends
// and an empty batch does not, and StreamDataset with a StreamSampler. Each process reads all of a
// stream and keeps its share; or, with dispatch_batches, rank 0 reads alone. A loop reads in its
// own thread, or ahead of itself in as many others as DataLoaderOptions::workers says, of a stream
// in one.
template <typename Dataset, typename Sampler>
class DataLoader {
 public:
  using Batch = typename BatchOf<Dataset>::type;

  // No loader yet, for members that are assigned later. Throws std::logic_error where it is used.
  DataLoader() = default;
  DataLoader(Dataset dataset, Sampler sampler, torch::data::DataLoaderOptions options)
      : source_(std::make_shared<DataSource<Dataset, Sampler>>(DataSource<Dataset, Sampler>{
            std::move(dataset), std::move(sampler), read_options(options)})) {}

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    using pointer = Batch*;
    using reference = Batch&;

    explicit Iterator(std::shared_ptr<EpochLoop<Batch>> epoch) : epoch_(std::move(epoch)) {}
    Batch& operator*() const { return epoch_->batch(); }
    Batch* operator->() const { return &epoch_->batch(); }
    Iterator& operator++() {
      epoch_->advance();
      return *this;
    }
    friend bool operator==(const Iterator& it, std::default_sentinel_t) {
      return it.epoch_->done();
    }

   private:
    std::shared_ptr<EpochLoop<Batch>> epoch_;
  };

  // Begins an epoch. Throws std::logic_error inside a loop over this loader, or over one with the
  // same dataset and sampler; this and each step, what the dataset or the sampler threw for the
  // batch they lead to, which ends the epoch, and std::invalid_argument if worker threads need
  // copies of a dataset that has none; std::runtime_error after DataLoaderOptions::timeout, though
  // only once the reads under way have returned: one that never does holds the program, as a line
  // on standard error then says. To begin is collective with AcceleratorOptions::rng_types: one
  // broadcast. With dispatch_batches they are collective, and rank 0 reads for all: what it could
  // not read is a CommunicationError on the others, as is a lost peer.
  Iterator begin() {
    if (const auto loop = source().loop.lock(); loop != nullptr && !loop->done) {
      throw std::logic_error(
          "this loader, or another one of its dataset and sampler, is in a loop already: leave it "
          "first");
    }
    if (context_.before_epoch) context_.before_epoch();
    auto running = progress_->begin();
    source().loop = running;
    const EpochStart start{.number = running->number,
                           .samples = running->position.seen_samples,
                           .steps = running->position.seen_samples > 0 ? 0 : skipped_steps_,
                           .seed = progress_->seed()};
    return Iterator(std::make_shared<EpochLoop<Batch>>(open(start), context_.transfer,
                                                       context_.active, std::move(running)));
  }
  std::default_sentinel_t end() { return {}; }
  // The loader itself, so that LibTorch's loop `for (auto& batch : *loader)` compiles unchanged.
  DataLoader& operator*() { return *this; }

  // Batches that this process gets in a whole epoch; the ones of skip_first_batches() do not count.
  // The sampler's own size() counts where it has one; else it is taken to yield each sample of the
  // dataset once. Throws std::logic_error if neither has a size, or if it depends on the size of
  // the last batch and only the sampler knows that.
  std::size_t size() const {
    const std::size_t batches = whole_size();
    return batches - std::min(batches, skipped_steps_);
  }

  // size(), or nothing where that throws.
  std::optional<std::size_t> known_size() const {
    try {
      return size();
    } catch (const std::logic_error&) {
      return std::nullopt;
    }
  }

  // True while the last batch of the running epoch is being processed.
  bool end_of_dataloader() const {
    const auto running = progress_->running();
    return running != nullptr && running->position.end_of_dataloader;
  }

  // How many samples all processes have in the running step, without repeated ones; 0 outside of a
  // loop.
  std::size_t real_samples() const {
    const auto running = progress_->running();
    return running != nullptr ? running->position.real_samples : 0;
  }

  // The number of the running epoch, or of the next one; from 0. With the seed it determines the
  // order.
  std::size_t epoch() const { return progress_->epoch(); }
  // The epochs that are left of `count`, for the outer loop of a training: from epoch() on, which
  // after load_state() is the epoch that was saved.
  auto epochs(std::size_t count) const { return std::views::iota(std::min(epoch(), count), count); }
  // The next loop is this epoch, from its first sample; if it is the one that load_state_dict() or
  // load_state() goes on with, from where that was. So a training may say it before each loop.
  void set_epoch(std::size_t epoch) { progress_->set_epoch(epoch); }

  // How far a prepared loader is: the same on all ranks, inside a loop (the running step counts as
  // seen) and between loops. Where a loop was left by break or an exception, it says where, until
  // the next loop begins: what is saved then goes on inside that epoch. A script that does not want
  // the rest, say as it leaves each epoch after some steps, says set_epoch(epoch()) before it
  // saves. After load_state_dict(), on every rank, the next loop yields what is left of that epoch,
  // each sample once, with any number of processes and any batch size; the loops after that are the
  // next epochs, whole. The script makes the same dataset and sampler again. A sampler's order is
  // to depend on nothing but the process-wide CPU generator, which is seeded for each epoch, and
  // set_epoch(); a stream yields an epoch's samples in the same order again. Of a stream, the
  // samples that were seen are read and discarded. Throw std::logic_error if the loader is not
  // prepared.
  LoaderState state_dict() const { return progress_->state(); }
  void load_state_dict(const LoaderState& state) { progress_->load(state); }

  bool is_prepared() const { return context_.prepared; }
  // What checkpoints save of a prepared loader.
  const std::shared_ptr<EpochSequence>& progress() const { return progress_; }

  // This loader, sharded. Called by Accelerator::prepare().
  DataLoader sharded(LoaderContext context) const {
    DataLoader loader(*this);
    loader.context_ = std::move(context);
    loader.progress_ = std::make_shared<EpochSequence>(loader.context_.seed);
    check_shard_options(source().shard_options(loader.context_));
    if (loader.dispatched() && !BatchTensors<Batch>::fixed) {
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
  static ReadOptions read_options(const torch::data::DataLoaderOptions& options) {
    const torch::data::FullDataLoaderOptions full(options);
    return {.batch_size = full.batch_size,
            .workers = full.workers,
            .max_jobs = full.max_jobs,
            .timeout = full.timeout,
            .drop_last = full.drop_last};
  }

  using Local = std::conditional_t<stream_dataset<Dataset>, IterableStream<Dataset, Sampler>,
                                   MapStream<Dataset, Sampler>>;

  bool dispatched() const {
    return context_.num_processes > 1 && context_.dispatch_batches.value_or(
                                             stream_dataset<Dataset> && BatchTensors<Batch>::fixed);
  }

  std::unique_ptr<BatchStream<Batch>> open(const EpochStart& start) const {
    if constexpr (BatchTensors<Batch>::fixed) {
      if (dispatched()) {
        typename DispatchedStream<Batch>::Open open_global;
        if (context_.process_index == 0) {
          open_global = [source = source_, context = context_, start] {
            return std::make_unique<Local>(source, context, start, /*dispatched=*/true);
          };
        }
        return std::make_unique<DispatchedStream<Batch>>(std::move(open_global), context_,
                                                         source().shard_options(context_));
      }
    }
    return std::make_unique<Local>(source_, context_, start, /*dispatched=*/false);
  }

  std::size_t whole_size() const {
    const ShardOptions options = source().shard_options(context_);
    if constexpr (stream_dataset<Dataset>) {
      return iterable_length(options, sample_count(), dispatched());
    } else {
      const auto [batches, last_batch_size] = count_batches();
      return dispatched() ? dispatch_length(options, batches, last_batch_size)
                          : shard_length(options, batches, last_batch_size);
    }
  }

  // The sampler's batches, and the size of the last one.
  std::pair<std::size_t, std::size_t> count_batches() const {
    if constexpr (batch_sampler<Sampler>) {
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

  DataSource<Dataset, Sampler>& source() const {
    if (source_ == nullptr) {
      throw std::logic_error(
          "this loader is empty: assign what make_data_loader() or prepare() returns first");
    }
    return *source_;
  }

  std::shared_ptr<DataSource<Dataset, Sampler>> source_;
  LoaderContext context_;
  std::shared_ptr<EpochSequence> progress_ = std::make_shared<EpochSequence>();
  std::size_t skipped_steps_ = 0;
};

// The same loader, whose loops pass over their first `steps` batches: of a dataset with indices
// without reading them, of a stream by reading and discarding. Epochs go on counting in `loader`. A
// loop that goes on with the epoch of a checkpoint passes over what was seen, and over nothing
// more: the steps that a script skips there, as one for Python would, are among it.
template <typename Dataset, typename Sampler>
DataLoader<Dataset, Sampler> skip_first_batches(const DataLoader<Dataset, Sampler>& loader,
                                                std::size_t steps) {
  return loader.skipping(steps);
}

// As torch::data::make_data_loader() with any of its datasets and samplers, or a batch sampler.
// torch's loaders hide what they are made of and so cannot be sharded. These are constrained, and
// so preferred to torch's own, which a call with torch's options finds as well.
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
  if (!size) throw std::logic_error("a dataset without a size needs a sampler of its own");
  return DataLoader<Dataset, Sampler>(std::move(dataset), Sampler(*size), options);
}

// Of a dataset that ends by itself.
template <typename Dataset, typename = void>
requires(Dataset::is_stateful) DataLoader<Dataset, NoSampler> make_data_loader(
    Dataset dataset, torch::data::DataLoaderOptions options = {}) {
  return DataLoader<Dataset, NoSampler>(std::move(dataset), NoSampler{}, options);
}

}  // namespace accel
