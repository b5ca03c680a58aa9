// One pass over a data loader.
#pragma once

#include <torch/data/dataloader.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/core/batch_sampler_shard.h"
#include "runtime/data/loader_binding.h"
#include "runtime/data/sampler_rng.h"
#include "runtime/data/to_device.h"

namespace accel {

template <typename Dataset, typename Sampler>
struct DataSource {
  static_assert(std::is_same_v<typename Sampler::BatchRequestType, std::vector<std::size_t>>,
                "a sampler for accel::make_data_loader yields vectors of indices");

  Dataset dataset;
  Sampler sampler;
  torch::data::FullDataLoaderOptions options;

  ShardOptions shard_options(const LoaderBinding& binding) const {
    return {.num_processes = binding.num_processes,
            .process_index = binding.process_index,
            .batch_size = options.batch_size,
            .split_batches = binding.split_batches,
            // One process alone has nobody to be even with: its last batch stays short.
            .even_batches = binding.even_batches && binding.num_processes > 1,
            .drop_last = options.drop_last};
  }
};

// Reads one batch ahead, so that the last one is known as such while it is processed. Not
// thread-safe.
template <typename Dataset, typename Sampler>
class Epoch {
 public:
  using Batch = typename Dataset::BatchType;

  Epoch(std::shared_ptr<DataSource<Dataset, Sampler>> source, LoaderBinding binding,
        std::size_t number)
      : source_(std::move(source)), binding_(std::move(binding)), rng_(binding_.seed) {
    rng_.start(number);
    rng_.run([&] { source_->sampler.reset(std::nullopt); });
    if (source_->options.workers > 0) draw_all();
    shard_.emplace(source_->shard_options(binding_), [this] { return next_inner_batch(); });
    if (source_->options.workers > 0) start_workers();
    ahead_ = fetch();
    binding_.active->enter(&position_);
    advance();
  }
  ~Epoch() { binding_.active->leave(&position_); }
  Epoch(const Epoch&) = delete;
  Epoch& operator=(const Epoch&) = delete;

  bool done() const { return !current_; }
  Batch& batch() { return *current_; }
  const LoaderPosition& position() const { return position_; }

  void advance() {
    if (!ahead_) {
      current_.reset();
      position_ = {};
      return;
    }
    current_ = std::move(ahead_->batch);
    position_ = ahead_->position;
    ahead_ = fetch();
    position_.end_of_dataloader = !ahead_;
  }

 private:
  struct Item {
    Batch batch;
    LoaderPosition position;
  };

  // Feeds the steps of the shard to torch's loader, whose threads fetch the samples.
  struct StepSampler {
    using BatchRequestType = std::vector<std::size_t>;
    Epoch* epoch;
    void reset() {}
    std::optional<BatchRequestType> next(std::size_t) { return epoch->next_request(); }
  };
  using Workers = torch::data::StatelessDataLoader<Dataset, StepSampler>;

  std::optional<IndexBatch> draw_inner_batch() {
    const auto& options = source_->options;
    std::optional<IndexBatch> batch =
        rng_.run([&] { return source_->sampler.next(options.batch_size); });
    if (batch && options.drop_last && batch->size() < options.batch_size) return std::nullopt;
    return batch;
  }

  // Worker threads may draw random numbers themselves, so the sampler is done before they start.
  void draw_all() {
    while (std::optional<IndexBatch> batch = draw_inner_batch()) {
      drawn_.push_back(*std::move(batch));
    }
  }

  std::optional<IndexBatch> next_inner_batch() {
    if (source_->options.workers == 0) return draw_inner_batch();
    if (drawn_.empty()) return std::nullopt;
    IndexBatch batch = std::move(drawn_.front());
    drawn_.pop_front();
    return batch;
  }

  std::optional<IndexBatch> next_request() {
    std::optional<ShardedBatch> step = shard_->next();
    if (!step) return std::nullopt;
    requested_.push_back({.real_samples = step->real_samples,
                          .padded_samples = step->indices.size() * binding_.num_processes});
    return std::move(step->indices);
  }

  void start_workers() {
    const auto& options = source_->options;
    torch::data::DataLoaderOptions torch_options(options.batch_size);
    torch_options.workers(options.workers).max_jobs(options.max_jobs).timeout(options.timeout);
    workers_ = std::make_unique<Workers>(source_->dataset, StepSampler{this}, torch_options);
    worker_batches_.emplace(workers_->begin());
  }

  std::optional<Item> fetch() {
    std::optional<Batch> batch = workers_ ? fetch_from_workers() : fetch_here();
    if (!batch) return std::nullopt;
    const LoaderPosition position = requested_.front();
    requested_.pop_front();
    return Item{to_device(*std::move(batch), binding_.device), position};
  }

  std::optional<Batch> fetch_here() {
    std::optional<IndexBatch> indices = next_request();
    if (!indices) return std::nullopt;
    return source_->dataset.get_batch(*std::move(indices));
  }

  std::optional<Batch> fetch_from_workers() {
    if (*worker_batches_ == workers_->end()) return std::nullopt;
    Batch batch = std::move(**worker_batches_);
    ++*worker_batches_;
    return batch;
  }

  const std::shared_ptr<DataSource<Dataset, Sampler>> source_;
  const LoaderBinding binding_;
  SamplerRng rng_;
  std::deque<IndexBatch> drawn_;  // With workers only.
  std::optional<BatchSamplerShard> shard_;
  std::deque<LoaderPosition> requested_;  // Of batches asked for and not yet fetched, in order.
  std::unique_ptr<Workers> workers_;
  std::optional<torch::data::Iterator<Batch>> worker_batches_;
  std::optional<Batch> current_;
  std::optional<Item> ahead_;
  LoaderPosition position_;
};

}  // namespace accel
