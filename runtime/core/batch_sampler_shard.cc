// How N processes share one stream of index batches without communication.
//
// In each training step every process takes one batch, and reducing the gradients makes all of them
// wait for the slowest. So the processes need the same number of batches. Otherwise a process with
// one more batch waits forever. At the same time each sample should be seen once per epoch, and a
// metric must not count any sample twice.
//
// Every process runs the same sampler with the same seed. It can therefore walk the whole stream
// and pick its part by counting. An index of another process costs 8 bytes to generate and skip,
// and its sample is never read. The obvious alternative is a stride over single samples, as in
// PyTorch's DistributedSampler. It would replace the program's batch sampler, and break up the
// batches that this sampler has grouped, such as sentences of similar length. So whole batches are
// dealt out, or each batch is split. Ten samples, batch_size = 4, two processes, even_batches:
//
// clang-format off
//   inner stream      [0 1 2 3]  [4 5 6 7]  [8 9]
//
//   whole batches     step 0     step 1
//     process 0       [0 1 2 3]  [8 9 0 1]
//     process 1       [4 5 6 7]  [2 3 4 5]
//     real_samples    8          2
//
//   split_batches     step 0     step 1     step 2
//     process 0       [0 1]      [4 5]      [8 9]
//     process 1       [2 3]      [6 7]      [0 1]
//     real_samples    4          4          2
// clang-format on
//
// Padding. Whole batches are padded in the last round only, because in every other round each
// process has a batch, whatever its size. To know the last round, the class reads one inner batch
// ahead. Padding repeats the epoch's first samples, as Accelerate does. It always comes last in
// process order: it extends the last real batch, then fills the processes behind it. So
// gather_for_metrics() drops it by keeping the first real_samples rows.
//
// Splitting without even_batches. Nothing is repeated, so the last batch may leave the last
// processes with nothing. It keeps slices of batch_size / N because Accelerate's batches do. In
// mid-stream such slices would be a defect. A process without a slice would take the next batch
// instead, and be one step ahead of the others from then on. The samples that rank 0 saves as seen
// would then not be those that the others have seen. So a short batch in mid-stream is divided
// among all processes. It is first joined with its successors until each process gets a sample.
//
// Resuming. A resumed epoch's inner stream begins behind the samples that were seen, but padding
// still repeats the first ones of the epoch. The caller therefore passes those batches as `first`.
#include "runtime/core/batch_sampler_shard.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace accel::runtime {
namespace {

std::size_t count_samples(const std::vector<IndexBatch>& batches) {
  std::size_t count = 0;
  for (const IndexBatch& batch : batches) count += batch.size();
  return count;
}

IndexBatch flatten(const std::vector<IndexBatch>& batches) {
  IndexBatch flat;
  flat.reserve(count_samples(batches));
  for (const IndexBatch& batch : batches) flat.insert(flat.end(), batch.begin(), batch.end());
  return flat;
}

// Appends samples of `cycle` to `batch`, from position `at` on and from the beginning again after
// its end, until `batch` holds `size` samples. Advances `at`.
void extend(IndexBatch& batch, std::size_t size, const IndexBatch& cycle, std::size_t& at) {
  while (batch.size() < size) batch.push_back(cycle[at++ % cycle.size()]);
}

// Returns rows [begin, begin + count) of `batch` as far as they exist, or nullopt if none does.
std::optional<ShardedBatch> slice_of(const IndexBatch& batch, std::size_t begin, std::size_t count,
                                     std::size_t real_samples) {
  if (begin >= batch.size()) return std::nullopt;
  const auto from = batch.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto to = from + static_cast<std::ptrdiff_t>(std::min(count, batch.size() - begin));
  return ShardedBatch{IndexBatch(from, to), real_samples, batch.size()};
}

}  // namespace

void check_shard_options(const ShardOptions& options) {
  if (options.num_processes == 0 || options.process_index >= options.num_processes) {
    throw std::invalid_argument("process " + std::to_string(options.process_index) + " of " +
                                std::to_string(options.num_processes) + " does not exist");
  }
  if (options.batch_size == 0u) throw std::invalid_argument("the batch size must be at least 1");
  if (!options.split_batches) return;
  if (!options.batch_size) {
    throw std::invalid_argument("split_batches needs a batch sampler with a fixed batch size");
  }
  if (*options.batch_size % options.num_processes != 0) {
    throw std::invalid_argument(
        "split_batches needs a batch size that is a multiple of the number of processes: " +
        std::to_string(*options.batch_size) + " is not a multiple of " +
        std::to_string(options.num_processes));
  }
}

BatchSamplerShard::BatchSamplerShard(const ShardOptions& options, Source inner,
                                     std::vector<IndexBatch> first)
    : options_(options), inner_(std::move(inner)), first_(std::move(first)) {
  check_shard_options(options_);
  ahead_ = inner_();
}

std::optional<ShardedBatch> BatchSamplerShard::next() {
  return options_.split_batches ? next_slice() : next_of_round();
}

std::optional<IndexBatch> BatchSamplerShard::pull() {
  if (!ahead_) return std::nullopt;
  if (first_.size() < (options_.split_batches ? 1 : options_.num_processes)) {
    first_.push_back(*ahead_);
  }
  return std::exchange(ahead_, inner_());
}

std::optional<ShardedBatch> BatchSamplerShard::next_of_round() {
  std::vector<IndexBatch> round;
  while (round.size() < options_.num_processes) {
    std::optional<IndexBatch> batch = pull();
    if (!batch) break;
    round.push_back(*std::move(batch));
  }
  if (round.empty()) return std::nullopt;
  const bool is_complete = round.size() == options_.num_processes;
  if (options_.drop_last && !is_complete) return std::nullopt;
  const std::size_t real_samples = count_samples(round);
  const bool last_round = !ahead_;
  if (last_round && options_.even_batches && !options_.drop_last) pad(round);
  if (options_.process_index >= round.size()) return std::nullopt;
  const std::size_t padded_samples = count_samples(round);
  return ShardedBatch{std::move(round[options_.process_index]), real_samples, padded_samples};
}

// Without a batch_size there is no size to fill batches up to, so whole first batches are repeated.
void BatchSamplerShard::pad(std::vector<IndexBatch>& round) const {
  std::size_t at = 0;
  if (!options_.batch_size) {
    while (round.size() < options_.num_processes) round.push_back(first_[at++ % first_.size()]);
    return;
  }
  const IndexBatch cycle = flatten(first_);
  extend(round.back(), *options_.batch_size, cycle, at);
  while (round.size() < options_.num_processes) {
    round.emplace_back();
    extend(round.back(), *options_.batch_size, cycle, at);
  }
}

std::optional<ShardedBatch> BatchSamplerShard::next_slice() {
  const std::size_t n = options_.num_processes, p = options_.process_index;
  std::optional<IndexBatch> batch = pull();
  if (!batch) return std::nullopt;
  const std::size_t slice = *options_.batch_size / n;
  if (options_.even_batches) {
    const std::size_t real_samples = batch->size();
    std::size_t at = 0;
    extend(*batch, *options_.batch_size, first_.front(), at);
    return slice_of(*batch, p * slice, slice, real_samples);
  }
  // In mid-stream every process must get a sample, so that all remain at the same step
  // (docs/decisions/0019).
  while (ahead_ && batch->size() < n) {
    const std::optional<IndexBatch> more = pull();
    batch->insert(batch->end(), more->begin(), more->end());
  }
  const std::size_t size = batch->size();
  // A short last batch keeps Accelerate's slices, of which the last may be empty.
  if (!ahead_ && size < *options_.batch_size) return slice_of(*batch, p * slice, slice, size);
  return slice_of(*batch, size / n * p + std::min(p, size % n), size / n + (p < size % n), size);
}

std::size_t shard_length(const ShardOptions& options, std::size_t inner_batches,
                         std::size_t last_batch_size) {
  if (inner_batches == 0) return 0;
  const std::size_t n = options.num_processes;
  if (options.split_batches) {
    const std::size_t begin = options.process_index * (*options.batch_size / n);
    const bool nothing_of_last = !options.even_batches && last_batch_size <= begin;
    return inner_batches - (nothing_of_last ? 1 : 0);
  }
  const std::size_t complete_rounds = inner_batches / n;
  const std::size_t rest = inner_batches % n;
  if (rest == 0 || options.drop_last) return complete_rounds;
  return complete_rounds + (options.even_batches || options.process_index < rest ? 1 : 0);
}

}  // namespace accel::runtime
