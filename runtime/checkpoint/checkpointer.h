// Saves and loads the state of a run: the order of the steps behind save_state(), wait_for_save(),
// load_state() and resume_from_newest() (docs/life-of-a-checkpoint.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "accel/options.h"
#include "runtime/checkpoint/claim.h"
#include "runtime/checkpoint/commit.h"
#include "runtime/checkpoint/naming.h"
#include "runtime/checkpoint/run_state.h"
#include "runtime/checkpoint/staging_memory.h"
#include "runtime/process/process_state.h"

namespace accel::runtime {

// The saves and loads of one Accelerator. Rank 0 copies its state and writes the copy in the
// background. The other ranks only send it the states of their random number generators and the
// gradients of an open window, and with StateDictType::kFull their parts of sharded models. If a
// model is saved in parts, every rank copies and writes its own parts, and rank 0 commits them.
// save(), load() and wait() are collective. If one rank fails, that rank throws its error, and the
// others throw CheckpointError with its number and text. Not thread-safe.
class Checkpointer {
 public:
  // Throws std::invalid_argument for a total_limit of 0.
  Checkpointer(std::shared_ptr<ProcessState> process, ProjectConfiguration project);
  // Waits for the last save. If the save failed, its error is logged to standard error.
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  // The state that is saved and loaded.
  RunState& run() { return run_; }

  // Hooks run on every rank, in the order in which they were added.
  void add_save_hook(CheckpointHook hook) { save_hooks_.push_back(std::move(hook)); }
  void add_load_hook(CheckpointHook hook) { load_hooks_.push_back(std::move(hook)); }

  // Saves into `folder`, or under the next automatic name if `folder` is empty. A symbolic link
  // stands for the folder that it leads to. Returns once the state is copied. The files are written
  // in the background. Throws the error of the previous save if that failed, and
  // std::invalid_argument if the folder cannot be used.
  void save(const std::filesystem::path& folder);

  // Returns once the last save is durable. Throws its error if it failed.
  void wait();

  // Loads `folder`, or the newest complete checkpoint with an automatic name if `folder` is empty.
  // Returns false if there is no checkpoint and `required` is false. Throws CheckpointError if
  // there is none and it is required, or if there are some but all are damaged. Also throws it if
  // the newest one cannot be read, or is of another version.
  bool load(const std::filesystem::path& folder, bool required);

  // The number of the next automatic name.
  std::uint64_t next_iteration() const { return naming_.next_number(); }
  void set_next_iteration(std::uint64_t iteration) { naming_.set_next_number(iteration); }

  // Prepares the memory for the first save, in the background. The first touch of fresh memory
  // costs more than the copy into it.
  void expect_saves();

 private:
  // The numbers that rank 0 finds on the disk before a load.
  struct Found {
    std::int64_t number = -1;  // The N of an automatic name, 0 for a given folder, -1 if none.
    std::int64_t next = 0;     // The number of the next automatic name.
  };

  void wait_for_writing();
  std::optional<HeldClaim> claim_on(ClaimedPlace place) const;
  void begin_automatic();
  std::filesystem::path begin(const std::filesystem::path& given);
  void write_in_background(const std::filesystem::path& folder, bool automatic,
                           const RunState::Gathered& gathered);
  std::pair<std::string, std::optional<OtherRanks>> exchange_names(const Snapshot& copied) const;
  Found find(const std::filesystem::path& given, bool required);
  Found find_newest(bool required);
  void run_hooks(const std::vector<CheckpointHook>& hooks, const std::filesystem::path& folder);

  std::shared_ptr<ProcessState> process_;
  AutomaticNaming naming_;
  RunState run_;
  std::vector<CheckpointHook> save_hooks_, load_hooks_;
  StagingMemory memory_;
  // The save that is being written. It uses memory_, so it is declared later and ends first.
  std::future<void> writing_;
};

}  // namespace accel::runtime
