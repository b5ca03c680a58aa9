#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/core/iterable_shard.h"
#include "runtime/data/batch_rows.h"
#include "runtime/data/batch_stream.h"
#include "runtime/data/data_source.h"
#include "runtime/data/loader_context.h"
#include "runtime/data/read_ahead.h"
#include "runtime/data/transform_rng.h"

namespace accel::runtime {

// Reads a stream from its beginning to its end. Returns this process's batches, or if `dispatched`,
// global batches that are divided later. Skipped samples are read and dropped. The calling thread
// reads, or one separate thread reads ahead. Not thread-safe.
//
// A stream is read in rounds, each of which gives every process one batch (see
// runtime/core/iterable_shard.h). The first round is kept, because a short last round is completed
// with its samples.
template <typename Dataset, typename Sampler>
class IterableStream : public BatchStream<typename BatchOf<Dataset>::type> {
 public:
  using Batch = typename BatchOf<Dataset>::type;
  using Source = DataSource<Dataset, Sampler>;

  IterableStream(std::shared_ptr<Source> source, const LoaderContext& context,
                 const EpochStart& start, bool dispatched)
      : source_(std::move(source)),
        transfer_(context.transfer),
        random_(start.seed, start.number),
        options_(source_->shard_options(context)),
        dispatched_(dispatched),
        seen_samples_(start.samples) {
    if constexpr (requires { source_->dataset.set_epoch(start.number); }) {
      source_->dataset.set_epoch(start.number);
    }
    if constexpr (Dataset::is_stateful) {
      source_->dataset.reset();
    } else {
      source_->sampler.reset(std::nullopt);
    }
    const ReadScope scope(random_, /*in_worker=*/false);
    skip(start.samples);
    for (std::size_t step = 0; step < start.steps; ++step) {
      if (const auto round = next_round()) seen_samples_ += BatchRows<Batch>::count(*round);
    }
    const ReadOptions& read = source_->options;
    if (read.workers > 0) {
      // One thread, whatever `workers` is, because a stream has one order.
      reader_.emplace([this] { return next_step(/*in_worker=*/true); },
                      std::vector<typename Reader::Work>{[](auto step) { return step; }},
                      read.max_jobs, read.timeout);
    }
  }

  std::optional<LoadedBatch<Batch>> next() override {
    return reader_ ? reader_->next() : next_step(/*in_worker=*/false);
  }

 private:
  using Reader = ReadAhead<LoadedBatch<Batch>, LoadedBatch<Batch>>;

  std::optional<LoadedBatch<Batch>> next_step(bool in_worker) {
    const ReadScope scope(random_, in_worker);
    if (in_worker) transfer_->enter_thread();
    const std::optional<Batch> round = next_round();
    if (!round) return std::nullopt;
    const std::size_t rows = BatchRows<Batch>::count(*round),
                      first = BatchRows<Batch>::count(*first_);
    const auto share =
        dispatched_ ? dispatched_round(options_, rows, first) : round_share(options_, rows, first);
    if (!share) return std::nullopt;
    seen_samples_ += rows;
    // Counted over all processes. Each process computes the same number.
    const std::size_t padded = dispatched_             ? share->size()
                               : options_.even_batches ? round_size(options_)
                                                       : rows;
    LoadedBatch<Batch> step{
        pick(*share, *round),
        {.real_samples = rows, .padded_samples = padded, .seen_samples = seen_samples_}};
    transfer_->pin(step.batch);
    return step;
  }

  // Reads up to `count` samples, as many as the dataset returns in one call. Returns std::nullopt
  // at the end. A StatefulDataset ends with std::nullopt only, because a dataset that filters may
  // return an empty batch in mid-stream.
  std::optional<Batch> read(std::size_t count) {
    std::optional<Batch> batch;
    if constexpr (Dataset::is_stateful) {
      do {
        batch = source_->dataset.get_batch(count);
      } while (batch && BatchRows<Batch>::count(*batch) == 0);
    } else if (const auto request = source_->sampler.next(count)) {
      batch = source_->dataset.get_batch(static_cast<std::size_t>(*request));
    }
    if (batch && BatchRows<Batch>::count(*batch) == 0) batch.reset();
    return batch;
  }

  // Returns the next `count` samples, or fewer at the end. Keeps further samples that
  // the dataset returns.
  std::optional<Batch> take(std::size_t count) {
    std::vector<Batch> pieces;
    std::size_t rows = 0;
    while (rows < count) {
      std::optional<Batch> piece = rest_ ? std::exchange(rest_, std::nullopt) : read(count - rows);
      if (!piece) break;
      const std::size_t size = BatchRows<Batch>::count(*piece),
                        taken = std::min(size, count - rows);
      if (taken < size) {
        rest_ = BatchRows<Batch>::slice(*piece, taken, size);
        piece = BatchRows<Batch>::slice(*piece, 0, taken);
      }
      rows += taken;
      pieces.push_back(*std::move(piece));
    }
    if (pieces.empty()) return std::nullopt;
    return pieces.size() == 1 ? std::move(pieces.front()) : BatchRows<Batch>::join(pieces);
  }

  std::optional<Batch> next_round() {
    std::optional<Batch> round = take(round_size(options_));
    if (round && !first_) first_ = round;
    return round;
  }

  void skip(std::size_t samples) {
    while (samples > 0) {
      std::optional<Batch> piece = take(std::min(samples, round_size(options_)));
      if (!piece) return;
      samples -= BatchRows<Batch>::count(*piece);
      if (!first_) first_ = std::move(piece);
    }
  }

  Batch pick(const RoundShare& share, const Batch& round) const {
    if (share.repeated.empty() && share.own.size() == BatchRows<Batch>::count(round)) return round;
    std::vector<Batch> pieces;
    if (share.own.size() > 0) {
      pieces.push_back(BatchRows<Batch>::slice(round, share.own.begin, share.own.end));
    }
    for (const RowRange& range : share.repeated) {
      pieces.push_back(BatchRows<Batch>::slice(*first_, range.begin, range.end));
    }
    return pieces.size() == 1 ? std::move(pieces.front()) : BatchRows<Batch>::join(pieces);
  }

  const std::shared_ptr<Source> source_;
  const std::shared_ptr<const DeviceTransfer> transfer_;
  // The random numbers of transforms, one sequence for the whole epoch.
  TransformRng random_;
  const ShardOptions options_;
  const bool dispatched_;
  std::size_t seen_samples_;
  // The first samples of the epoch, at most a round, which padding repeats.
  std::optional<Batch> first_;
  // Samples that were read but not yet taken.
  std::optional<Batch> rest_;
  // The last member, so that its thread ends before the members that it uses are destroyed.
  std::optional<Reader> reader_;
};

}  // namespace accel::runtime
