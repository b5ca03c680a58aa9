#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "runtime/core/batch_sampler_shard.h"
#include "runtime/core/dispatch_rounds.h"
#include "runtime/data/batch_stream.h"
#include "runtime/data/data_source.h"
#include "runtime/data/inner_batches.h"
#include "runtime/data/loader_context.h"
#include "runtime/data/read_ahead.h"
#include "runtime/data/sampler_rng.h"

namespace accel {

// The batches of a dataset whose samples have indices: this process's, or, `dispatched`, the global
// ones that are divided afterwards. What is passed over or belongs to others is not read. Read in
// the calling thread, or ahead in worker threads that have a copy of the dataset each. Not
// thread-safe.
template <typename Dataset, typename Sampler>
class MapStream : public BatchStream<typename Dataset::BatchType> {
 public:
  using Batch = typename Dataset::BatchType;
  using Source = DataSource<Dataset, Sampler>;

  MapStream(std::shared_ptr<Source> source, const LoaderContext& context, const EpochStart& start,
            bool dispatched)
      : source_(std::move(source)),
        transfer_(context.transfer),
        start_(start),
        process_index_(context.process_index),
        inner_(*source_, start),
        seen_samples_(start.samples) {
    const ShardOptions options = source_->shard_options(context);
    std::vector<IndexBatch> first =
        inner_.skip(start.samples, options.split_batches ? 1 : options.num_processes);
    // Worker threads may draw random numbers themselves, so the sampler is done before they start.
    if (source_->options.workers > 0) inner_.draw_all();
    if (dispatched) {
      deal<DispatchRounds>(options, std::move(first));
    } else {
      deal<BatchSamplerShard>(options, std::move(first));
    }
    for (std::size_t step = 0; step < start.steps; ++step) {
      if (const auto skipped = next_share_()) seen_samples_ += skipped->real_samples;
    }
    if (source_->options.workers > 0) start_workers();
  }

  std::optional<LoadedBatch<Batch>> next() override {
    if (workers_) return workers_->next();
    std::optional<Request> request = next_request();
    if (!request) return std::nullopt;
    return fetch(source_->dataset, *std::move(request), /*in_worker=*/false);
  }

 private:
  struct Request {
    IndexBatch indices;
    StepSamples position;
  };
  using Workers = ReadAhead<Request, LoadedBatch<Batch>>;

  template <typename Dealer>
  void deal(const ShardOptions& options, std::vector<IndexBatch> first) {
    auto dealer = std::make_shared<Dealer>(
        options, [this] { return inner_.next(); }, std::move(first));
    next_share_ = [dealer] { return dealer->next(); };
  }

  std::optional<Request> next_request() {
    std::optional<ShardedBatch> share = next_share_();
    if (!share) return std::nullopt;
    seen_samples_ += share->real_samples;
    const StepSamples position{.real_samples = share->real_samples,
                               .padded_samples = share->padded_samples,
                               .seen_samples = seen_samples_};
    return Request{std::move(share->indices), position};
  }

  LoadedBatch<Batch> fetch(Dataset& dataset, Request request, bool in_worker) const {
    TransformRng random(start_.seed, start_.number, request.position.seen_samples, process_index_);
    const ReadScope scope(random, in_worker);
    LoadedBatch<Batch> step{dataset.get_batch(std::move(request.indices)), request.position};
    transfer_->pin(step.batch);
    return step;
  }

  void start_workers() {
    if constexpr (std::copy_constructible<Dataset>) {
      std::vector<typename Workers::Work> works;
      for (std::size_t i = 0; i < source_->options.workers; ++i) {
        works.push_back([this, dataset = std::make_shared<Dataset>(source_->dataset)](Request r) {
          return fetch(*dataset, std::move(r), /*in_worker=*/true);
        });
      }
      workers_.emplace([this] { return next_request(); }, std::move(works),
                       source_->options.max_jobs, source_->options.timeout);
    } else {
      throw std::invalid_argument(
          "each worker thread has a copy of the dataset, and this one cannot be copied: set "
          "workers to 0");
    }
  }

  const std::shared_ptr<Source> source_;
  const std::shared_ptr<const DeviceTransfer> transfer_;
  const EpochStart start_;
  const std::size_t process_index_;
  InnerBatches<Source> inner_;
  std::function<std::optional<ShardedBatch>()> next_share_;
  std::size_t seen_samples_;
  std::optional<Workers> workers_;  // The last, so that its threads end before what they use.
};

}  // namespace accel
