// accel's data loader: made like torch's, from a torch::data dataset and sampler, and sharded by
// prepare().
#pragma once

#include <torch/data/dataloader.h>

#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "runtime/core/batch_sampler_shard.h"
#include "runtime/data/epoch.h"
#include "runtime/data/loader_binding.h"

namespace accel {

// A holder, like LibTorch's modules: copies are the same loader. One loop over it at a time; not
// thread-safe.
//
// Before prepare() it yields every batch. After it, this process's share, already on the device;
// batch_size then counts per process, or over all of them with split_batches. Each loop is an epoch
// of its own order if the sampler shuffles, and all ranks see the same order. Batches come in the
// sampler's order, whatever DataLoaderOptions::enforce_ordering says.
template <typename Dataset, typename Sampler>
class DataLoader {
 public:
  using Batch = typename Dataset::BatchType;

  DataLoader(Dataset dataset, Sampler sampler, torch::data::DataLoaderOptions options)
      : source_(std::make_shared<DataSource<Dataset, Sampler>>(DataSource<Dataset, Sampler>{
            std::move(dataset), std::move(sampler), torch::data::FullDataLoaderOptions(options)})),
        progress_(std::make_shared<Progress>()) {}

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    using pointer = Batch*;
    using reference = Batch&;

    explicit Iterator(std::shared_ptr<Epoch<Dataset, Sampler>> epoch) : epoch_(std::move(epoch)) {}
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
    std::shared_ptr<Epoch<Dataset, Sampler>> epoch_;
  };

  // Begins an epoch. Throws std::invalid_argument if split_batches does not fit batch_size.
  Iterator begin() {
    auto epoch =
        std::make_shared<Epoch<Dataset, Sampler>>(source_, binding_, progress_->next_epoch++);
    progress_->epoch = epoch;
    return Iterator(std::move(epoch));
  }
  std::default_sentinel_t end() { return {}; }

  // Batches that this process gets in an epoch. The sampler's own size() counts where it has one;
  // else it is taken to yield each sample of the dataset once. Throws std::logic_error if neither
  // has a size.
  std::size_t size() const {
    const auto [samples, batch_size] = std::pair(sample_count(), source_->options.batch_size);
    const std::size_t rest = samples % batch_size;
    const bool short_batch = rest != 0 && !source_->options.drop_last;
    return shard_length(source_->shard_options(binding_),
                        samples / batch_size + (short_batch ? 1 : 0),
                        short_batch ? rest : batch_size);
  }

  // True while the last batch of the running epoch is being processed.
  bool end_of_dataloader() const {
    const auto epoch = progress_->epoch.lock();
    return epoch != nullptr && epoch->position().end_of_dataloader;
  }

  // The number of the next epoch, from 0. With the seed it determines the order.
  void set_epoch(std::size_t epoch) { progress_->next_epoch = epoch; }

  bool is_prepared() const { return binding_.prepared; }

  // This loader, sharded. Called by Accelerator::prepare().
  DataLoader bound(LoaderBinding binding) const {
    DataLoader loader(*this);
    loader.binding_ = std::move(binding);
    loader.progress_ = std::make_shared<Progress>();
    check_shard_options(source_->shard_options(loader.binding_));
    return loader;
  }

 private:
  struct Progress {
    std::size_t next_epoch = 0;
    std::weak_ptr<Epoch<Dataset, Sampler>> epoch;
  };

  std::size_t sample_count() const {
    if constexpr (requires(const Sampler& sampler) { sampler.size(); }) {
      return source_->sampler.size();
    } else {
      const std::optional<std::size_t> size = source_->dataset.size();
      if (!size) throw std::logic_error("the size of this loader is unknown: its dataset has none");
      return *size;
    }
  }

  std::shared_ptr<DataSource<Dataset, Sampler>> source_;
  LoaderBinding binding_;
  std::shared_ptr<Progress> progress_;
};

// As torch::data::make_data_loader(), whose loaders hide what they are made of and so cannot be
// sharded.
template <typename Dataset, typename Sampler>
DataLoader<Dataset, Sampler> make_data_loader(Dataset dataset, Sampler sampler,
                                              torch::data::DataLoaderOptions options) {
  return DataLoader<Dataset, Sampler>(std::move(dataset), std::move(sampler), options);
}

template <typename Sampler = torch::data::samplers::RandomSampler, typename Dataset>
requires std::is_constructible_v<Sampler, std::size_t> DataLoader<Dataset, Sampler>
make_data_loader(Dataset dataset, torch::data::DataLoaderOptions options = {}) {
  const auto size = dataset.size();
  if (!size) throw std::logic_error("a dataset without a size needs a sampler of its own");
  return DataLoader<Dataset, Sampler>(std::move(dataset), Sampler(*size), options);
}

}  // namespace accel
