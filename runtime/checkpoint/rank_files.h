// How rank 0 learns what the other ranks have written of a checkpoint, in the background
// (docs/decisions/0072). A rank reports its files once they are durable, or its error; until then
// it shows that it is alive. Rank 0 commits the checkpoint only with the reports of all.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "runtime/comm/rank_notes.h"
#include "runtime/core/manifest.h"

namespace accel::runtime {

// Files by their path in the checkpoint's folder.
using WrittenFiles = std::map<std::string, FileFacts>;

struct RankFilesPace {
  std::chrono::milliseconds sign_of_life = std::chrono::seconds(1);
  // A rank that shows none for this long is lost. Longer than a rank may need to reach its notes.
  std::chrono::milliseconds silence = std::chrono::seconds(30);
};

// Calls `write` on another thread and reports what it returns, or its error, which it rethrows. Not
// for rank 0.
void report_files(const RankNotes& notes, int rank, const std::function<WrittenFiles()>& write,
                  RankFilesPace pace = {});

// Waits for the reports of the ranks 1 to world_size - 1, and returns their files. Throws
// CheckpointError with the rank if one has failed, is lost, or reports nonsense.
WrittenFiles collect_files(const RankNotes& notes, int world_size, RankFilesPace pace = {});

}  // namespace accel::runtime
