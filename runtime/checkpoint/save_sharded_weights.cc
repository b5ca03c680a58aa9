#include "runtime/checkpoint/save_sharded_weights.h"

#include <deque>
#include <exception>
#include <future>
#include <vector>

#include "runtime/checkpoint/durable_file.h"
#include "runtime/checkpoint/shared_outcome.h"
#include "runtime/checkpoint/weights.h"
#include "runtime/checkpoint/whole_file.h"

namespace accel::runtime {
namespace fs = std::filesystem;
namespace {

// Writes a file whose tensors the relay gives.
void write_relayed(const fs::path& path, const WholeFile& file, ByteRelay& relay) {
  DurableFile out(path, file.size);
  out.append(file.header);
  while (relay.take([&](std::string_view bytes) { out.append(bytes); })) {
  }
  out.finish();
}

}  // namespace

void save_sharded_weights(const ShardedModel& model, const ProcessState& process,
                          const fs::path& folder, ByteSize max_shard_size) {
  model.expect_values();
  const std::vector<SavedWhole> weights = whole_parameters(model);
  std::vector<WeightSize> sizes;
  for (const SavedWhole& one : weights) sizes.push_back({one.name, one.nbytes()});
  const std::vector<WeightFile> split = split_into_files(sizes, max_shard_size);
  std::vector<WholeFile> files;
  for (const WeightFile& file : split) {
    std::vector<SavedWhole> of_file;
    for (const std::size_t i : file.weights) of_file.push_back(weights[i]);
    files.emplace_back(of_file);
  }

  std::deque<ByteRelay> relays;  // Used by rank 0 alone, one for each file.
  for (std::size_t i = 0; i < files.size(); ++i) relays.emplace_back();
  std::future<void> writing;
  try {
    run_on_main_rank(process, [&] {
      begin_weights(folder);  // Before the ranks gather anything.
      writing = std::async(std::launch::async, [&] {
        std::deque<RelayCloser> closers;
        for (ByteRelay& relay : relays) closers.emplace_back(relay);
        std::size_t next = 0;
        save_weight_files(folder, sizes, split, [&](const WeightFile&, const fs::path& path) {
          write_relayed(path, files[next], relays[next]);
          ++next;
        });
      });
    });
    for (std::size_t i = 0; i < files.size(); ++i) {
      give_wholes(files[i].tensors, process, writing.valid() ? &relays[i] : nullptr);
      relays[i].end();
    }
  } catch (...) {
    for (ByteRelay& relay : relays) relay.fail(std::current_exception());
    throw;
  }
  run_on_main_rank(process, [&] { writing.get(); });
}

}  // namespace accel::runtime
