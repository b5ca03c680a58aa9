// The one place that knows how the output of workers lies on disk: BASE/JOB/gen_2, one folder for
// each generation, and in it
//
//   LOG_DIR/rank_3/stdout.00000000000000000000   first segment of rank 3's standard output
//   LOG_DIR/rank_3/stdout.00000000000004194304   the one that begins at this byte of the stream
//   LOG_DIR/rank_3/stderr.00000000000000000000
//   LOG_DIR/rank_3/error.json                    written by the worker (torchelastic's error file)
//
// Offsets count every byte that the worker wrote. What lies between the end of one segment and the
// beginning of the next has been dropped: a reader needs nothing but names and sizes to see it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/worker_env.h"

namespace accel::logs {

// Names the worker's error file to the worker. All that descends from it inherits this, and so it
// also tells whose state directory a process that was left behind belongs to.
inline constexpr const char* kErrorFileVariable = common::kEnvElasticErrorFile;

enum class LogStream { kStdout, kStderr };

std::string JobLogDir(absl::string_view base, absl::string_view job_id);
std::string GenerationLogDir(absl::string_view job_dir, int generation);
std::string RankLogDir(absl::string_view log_dir, int rank);
std::string WorkerErrorFile(absl::string_view log_dir, int rank);
std::string SegmentName(LogStream stream, int64_t offset);

// Nothing if the name is not one of ours.
std::optional<int> ParseRankDir(absl::string_view name);
struct SegmentId {
  LogStream stream = LogStream::kStdout;
  int64_t offset = 0;
};
std::optional<SegmentId> ParseSegmentName(absl::string_view name);

// The offsets of a stream's segments, ascending. Empty if there are none, or no such folder.
std::vector<int64_t> ListSegments(const std::string& rank_dir, LogStream stream);

// The generations that have a folder in `job_dir`, ascending.
std::vector<int> ListGenerations(const std::string& job_dir);

// The ranks that have a folder in `log_dir`, ascending.
std::vector<int> ListRanks(const std::string& log_dir);

}  // namespace accel::logs
