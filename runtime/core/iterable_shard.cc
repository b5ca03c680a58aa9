#include "runtime/core/iterable_shard.h"

#include <algorithm>
#include <stdexcept>

namespace accel::runtime {
namespace {

// Returns `count` samples of the first round, from the `at`-th on and from its beginning again
// after its end.
std::vector<RowRange> repeat(std::size_t at, std::size_t count, std::size_t first_rows) {
  std::vector<RowRange> ranges;
  while (count > 0) {
    const std::size_t begin = at % first_rows;
    const std::size_t end = std::min(first_rows, begin + count);
    ranges.push_back({begin, end});
    at += end - begin;
    count -= end - begin;
  }
  return ranges;
}

std::size_t slice_size(std::size_t rows, std::size_t num_processes) {
  return (rows + num_processes - 1) / num_processes;
}

}  // namespace

std::size_t RoundShare::size() const {
  std::size_t size = own.size();
  for (const RowRange& range : repeated) size += range.size();
  return size;
}

std::size_t round_size(const ShardOptions& options) {
  check_shard_options(options);
  if (!options.batch_size) throw std::invalid_argument("a stream needs a batch size");
  return *options.batch_size * (options.split_batches ? 1 : options.num_processes);
}

std::optional<RoundShare> round_share(const ShardOptions& options, std::size_t rows,
                                      std::size_t first_rows) {
  const std::size_t round = round_size(options);
  if (rows < round && options.drop_last) return std::nullopt;
  const std::size_t per_process = round / options.num_processes;
  const std::size_t begin = options.process_index * per_process, end = begin + per_process;
  RoundShare share{.own = {std::min(begin, rows), std::min(end, rows)}, .repeated = {}};
  if (options.even_batches && end > rows) {
    share.repeated = repeat(std::max(begin, rows) - rows, end - std::max(begin, rows), first_rows);
  }
  if (share.size() == 0) return std::nullopt;
  return share;
}

std::optional<RoundShare> dispatched_round(const ShardOptions& options, std::size_t rows,
                                           std::size_t first_rows) {
  if (rows < round_size(options) && options.drop_last) return std::nullopt;
  const std::size_t whole = slice_size(rows, options.num_processes) * options.num_processes;
  return RoundShare{.own = {0, rows}, .repeated = repeat(0, whole - rows, first_rows)};
}

std::size_t dispatched_rows(const ShardOptions& options, std::size_t real_samples) {
  const std::size_t slice = slice_size(real_samples, options.num_processes);
  if (options.even_batches) return slice;
  const std::size_t begin = std::min(real_samples, options.process_index * slice);
  return std::min(slice, real_samples - begin);
}

bool leaves_a_process_empty(const ShardOptions& options, std::size_t real_samples) {
  ShardOptions last = options;
  last.process_index = options.num_processes - 1;
  return dispatched_rows(last, real_samples) == 0;
}

std::size_t iterable_length(const ShardOptions& options, std::size_t samples, bool dispatched) {
  const std::size_t round = round_size(options);
  const std::size_t rest = samples % round;
  if (rest == 0 || options.drop_last) return samples / round;
  const bool share = dispatched ? dispatched_rows(options, rest) > 0
                                : round_share(options, rest, rest).has_value();
  return samples / round + (share ? 1 : 0);
}

}  // namespace accel::runtime
