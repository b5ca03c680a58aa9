#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "runtime/data/batch_stream.h"
#include "runtime/data/data_source.h"
#include "runtime/data/index_requests.h"
#include "runtime/data/loader_context.h"
#include "runtime/data/read_ahead.h"
#include "runtime/data/transform_rng.h"

namespace accel::runtime {

// Reads a dataset whose samples have indices. Returns this process's batches, or if `dispatched`,
// global batches that are divided later. Skipped samples, and samples of other processes, are not
// read. The calling thread reads, or worker threads read ahead, each from its own copy of the
// dataset. Not thread-safe.
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
        // Worker threads may draw random numbers themselves. With such threads the sampler
        // therefore draws all of its numbers before they start.
        requests_(index_sampler(*source_), source_->shard_options(context), start, dispatched,
                  /*draw_all=*/source_->options.workers > 0) {
    if (source_->options.workers > 0) start_workers();
  }

  std::optional<LoadedBatch<Batch>> next() override {
    if (workers_) return workers_->next();
    std::optional<IndexRequest> request = requests_.next();
    if (!request) return std::nullopt;
    return fetch(source_->dataset, *std::move(request), /*in_worker=*/false);
  }

 private:
  using Workers = ReadAhead<IndexRequest, LoadedBatch<Batch>>;

  LoadedBatch<Batch> fetch(Dataset& dataset, IndexRequest request, bool in_worker) const {
    TransformRng random(start_.seed, start_.number, request.samples.seen_samples, process_index_);
    const ReadScope scope(random, in_worker);
    if (in_worker) transfer_->enter_thread();
    LoadedBatch<Batch> loaded{dataset.get_batch(std::move(request.indices)), request.samples};
    transfer_->pin(loaded.batch);
    return loaded;
  }

  void start_workers() {
    if constexpr (std::copy_constructible<Dataset>) {
      std::vector<typename Workers::Work> works;
      for (std::size_t i = 0; i < source_->options.workers; ++i) {
        works.push_back(
            [this, dataset = std::make_shared<Dataset>(source_->dataset)](IndexRequest request) {
              return fetch(*dataset, std::move(request), /*in_worker=*/true);
            });
      }
      workers_.emplace([this] { return requests_.next(); }, std::move(works),
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
  IndexRequests requests_;
  // The last member, so that its threads end before the members that they use are destroyed.
  std::optional<Workers> workers_;
};

}  // namespace accel::runtime
