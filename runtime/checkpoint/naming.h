// The names of checkpoints for which the program gives no folder:
// project_dir/checkpoints/checkpoint_N, where no N is used twice (docs/decisions/0016).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "accel/options.h"

namespace accel::runtime {

// Counts the automatic names of one process. All ranks hold the same number; only rank 0 looks at
// the disk. Not thread-safe.
class AutomaticNaming {
 public:
  // Throws std::invalid_argument for a total_limit of 0.
  explicit AutomaticNaming(ProjectConfiguration project);

  // Returns the folder that holds the automatically named checkpoints. Throws std::invalid_argument
  // if the project has no project_dir or automatic naming is off.
  std::filesystem::path parent() const;

  // Returns checkpoint_`number` in parent(). Throws as parent() does.
  std::filesystem::path folder(std::uint64_t number) const;

  // The number of the next automatic name. is_settled() is true once it has been set.
  std::uint64_t next_number() const { return project_.iteration; }
  void set_next_number(std::uint64_t number);

  // Returns true once the next number is known to follow all checkpoints that were on the disk when
  // this run began. It is true after a load, a first save, or set_next_number().
  bool is_settled() const { return is_settled_; }

  // Prepares the first save of a run that has loaded nothing. Such a run may find another run's
  // checkpoints. Unless settled, moves the next number past all of them, because the checkpoint
  // with the highest number must be the one saved last. Logs the number to standard error. Throws
  // std::invalid_argument if the folder of the next number already exists. Rank 0 calls this, and
  // the caller gives the number to the other ranks.
  void skip_existing();

  // Returns the next number after a load. `saved_next` is the next number that the loaded
  // checkpoint has recorded. The result is greater than the number of any checkpoint in parent().
  // Damaged checkpoints count too, as do those that are newer than the loaded one. So nothing has
  // to be deleted before the run can continue. Without automatic naming, returns `saved_next`. Rank
  // 0 only. Throws CheckpointError if parent() cannot be read.
  std::uint64_t number_after(std::uint64_t saved_next) const;

  // Maximum number of checkpoints that are kept. If nullopt, all are kept.
  std::optional<std::size_t> total_limit() const { return project_.total_limit; }

 private:
  ProjectConfiguration project_;
  bool is_settled_ = false;
};

}  // namespace accel::runtime
