// The names and places of the workers' output on disk. No other file contains these names. Each
// generation has one folder, BASE/JOB/gen_2, which is called LOG_DIR here:
//
// clang-format off
//   LOG_DIR/rank_3/stdout.00000000000000000000   first segment of rank 3's standard output
//   LOG_DIR/rank_3/stdout.00000000000004194304   the segment that starts at this byte of the stream
//   LOG_DIR/rank_3/stderr.00000000000000000000
//   LOG_DIR/rank_3/stdout.times                  the times of its parts (time_index.h)
//   LOG_DIR/rank_3/error.json                    written by the worker (torchelastic's error file)
// clang-format on
//
// Offsets count every byte that the worker wrote. The bytes between the end of one segment
// and the start of the next were dropped. A reader therefore needs only names and sizes to
// find gaps (docs/decisions/0006).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/unique_fd.h"
#include "common/worker_env.h"

namespace accel::logs {

// The variable that gives a worker the path of its error file. All descendants of the
// worker inherit the variable. It therefore also tells to which state directory an
// orphaned process belongs.
inline constexpr const char* kErrorFileVariable = common::kEnvElasticErrorFile;

enum class LogStream { kStdout, kStderr };

std::string JobLogDir(absl::string_view base, absl::string_view job_id);
std::string GenerationLogDir(absl::string_view job_dir, int generation);
std::string RankLogDir(absl::string_view log_dir, int rank);
std::string WorkerErrorFile(absl::string_view log_dir, int rank);
std::string SegmentName(LogStream stream, int64_t offset);
// Returns the path of the file with the times of a stream's parts (time_index.h).
std::string TimesPath(absl::string_view rank_dir, LogStream stream);

// Returns the rank, or nullopt if `name` is not the name of a rank's folder.
std::optional<int> ParseRankDir(absl::string_view name);
struct SegmentId {
  LogStream stream = LogStream::kStdout;
  int64_t offset = 0;
};
std::optional<SegmentId> ParseSegmentName(absl::string_view name);

// Opens a file of a worker's output for reading. Returns an invalid descriptor if it is not a
// regular file. A link, a FIFO or a device is refused without waiting, because a worker can
// put one there.
common::UniqueFd OpenOutput(const std::string& path);

// Returns the offsets of a stream's segments, ascending. Empty if there are none, or if the
// folder does not exist.
std::vector<int64_t> ListSegments(const std::string& rank_dir, LogStream stream);

// Returns the generations that have a folder in `job_dir`, ascending.
std::vector<int> ListGenerations(const std::string& job_dir);

// Returns the ranks that have a folder in `log_dir`, ascending.
std::vector<int> ListRanks(const std::string& log_dir);

}  // namespace accel::logs
