// The reports by which rank 0 learns, in the background, which files the other ranks have written
// (docs/decisions/0072). A rank reports its files once they are durable, or its error. Until then
// it shows that it is alive. Rank 0 commits the checkpoint only after all ranks have reported.
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
  // The time without a sign of life after which a rank is lost. It is longer than a rank may need
  // to reach its notes.
  std::chrono::milliseconds silence = std::chrono::seconds(30);
};

// Calls `write` on another thread, and sends signs of life until it ends. Reports the returned
// files, or the error of `write`, and rethrows that error. An error while sending a sign of life is
// reported immediately, and rethrown once `write` has ended. Called by every rank except 0.
void report_files(const RankNotes& notes, int rank, const std::function<WrittenFiles()>& write,
                  RankFilesPace pace = {});

// Waits for the reports of the ranks 1 to world_size - 1, and returns their files. Throws
// CheckpointError with the rank if a rank has failed, is lost, sends a malformed report, or has
// written a file of another rank.
WrittenFiles collect_files(const RankNotes& notes, int world_size, RankFilesPace pace = {});

}  // namespace accel::runtime
