#pragma once

#include <torch/data/dataloader.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/core/batch_sampler_shard.h"
#include "runtime/core/dispatch_rounds.h"
#include "runtime/data/batch_stream.h"
#include "runtime/data/data_source.h"
#include "runtime/data/inner_batches.h"
#include "runtime/data/loader_binding.h"

namespace accel {

// The batches of a dataset whose samples have indices: this process's, or, `dispatched`, the global
// ones that are divided afterwards. What is passed over or belongs to others is not read. Not
// thread-safe.
template <typename Dataset, typename Sampler>
class MapStream : public BatchStream<typename Dataset::BatchType> {
 public:
  using Batch = typename Dataset::BatchType;
  using Source = DataSource<Dataset, Sampler>;

  MapStream(std::shared_ptr<Source> source, const LoaderBinding& binding, const EpochStart& start,
            bool dispatched)
      : source_(std::move(source)), inner_(*source_, start), seen_samples_(start.samples) {
    const ShardOptions options = source_->shard_options(binding);
    std::vector<IndexBatch> first =
        inner_.skip(start.samples, options.split_batches ? 1 : options.num_processes);
    // Worker threads may draw random numbers themselves, so the sampler is done before they start.
    if (source_->options.workers > 0) inner_.draw_all();
    if (dispatched) {
      deal<DispatchRounds>(options, std::move(first));
    } else {
      deal<BatchSamplerShard>(options, std::move(first));
      copies_ = options.num_processes;
    }
    for (std::size_t step = 0; step < start.steps; ++step) {
      if (const auto skipped = next_share_()) seen_samples_ += skipped->real_samples;
    }
    if (source_->options.workers > 0) start_workers();
  }

  std::optional<Step<Batch>> next() override {
    std::optional<Batch> batch = workers_ ? fetch_from_workers() : fetch_here();
    if (!batch) return std::nullopt;
    const LoaderPosition position = requested_.front();
    requested_.pop_front();
    return Step<Batch>{*std::move(batch), position};
  }

 private:
  // Feeds the requests to torch's loader, whose threads fetch the samples.
  struct RequestSampler {
    using BatchRequestType = IndexBatch;
    MapStream* stream;
    void reset() {}
    std::optional<BatchRequestType> next(std::size_t) { return stream->next_request(); }
  };
  using Workers = torch::data::StatelessDataLoader<Dataset, RequestSampler>;

  template <typename Dealer>
  void deal(const ShardOptions& options, std::vector<IndexBatch> first) {
    auto dealer = std::make_shared<Dealer>(
        options, [this] { return inner_.next(); }, std::move(first));
    next_share_ = [dealer] { return dealer->next(); };
  }

  std::optional<IndexBatch> next_request() {
    std::optional<ShardedBatch> share = next_share_();
    if (!share) return std::nullopt;
    seen_samples_ += share->real_samples;
    requested_.push_back({.real_samples = share->real_samples,
                          .padded_samples = share->indices.size() * copies_,
                          .seen_samples = seen_samples_});
    return std::move(share->indices);
  }

  void start_workers() {
    const auto& options = source_->options;
    torch::data::DataLoaderOptions torch_options(options.batch_size);
    torch_options.workers(options.workers).max_jobs(options.max_jobs).timeout(options.timeout);
    workers_ = std::make_unique<Workers>(source_->dataset, RequestSampler{this}, torch_options);
    worker_batches_.emplace(workers_->begin());
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

  const std::shared_ptr<Source> source_;
  InnerBatches<Source> inner_;
  std::function<std::optional<ShardedBatch>()> next_share_;
  std::size_t copies_ = 1;  // Processes that get as many samples as this one.
  std::size_t seen_samples_;
  std::deque<LoaderPosition> requested_;  // Of batches asked for and not yet fetched, in order.
  std::unique_ptr<Workers> workers_;
  std::optional<torch::data::Iterator<Batch>> worker_batches_;
};

}  // namespace accel
