// The flags of `accel logs`.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/connection_flags.h"
#include "cli/flags.h"
#include "proto/service.pb.h"

namespace accel::cli {

struct LogFlags {
  ConnectionFlags connection;
  std::string job;
  // Ranges, each with its first and last rank. If empty, all ranks.
  std::vector<std::pair<int, int>> ranks;
  v1::LogStream stream = v1::LOG_STREAM_UNSPECIFIED;
  std::optional<absl::Time> since;
  int tail = -1;  // If below 0, every line.
  std::string grep;
  int generation = 0;
  bool follow = false;
  bool fold = false;
  bool no_pager = false;
  bool json = false;
};

// `now` is the time to which a duration after --since refers.
FlagSet MakeLogFlagSet(LogFlags* to, absl::Time now);

// Returns the request for the selected output of one generation.
v1::ReadLogsRequest RequestOf(const LogFlags& flags, const std::string& job_id, int generation);

// Parses a rank ("3"), a range ("0-7"), or a list of both. INVALID_ARGUMENT: the message says
// what is wrong.
absl::StatusOr<std::vector<std::pair<int, int>>> ParseRanks(absl::string_view text);

// Parses a duration before `now`, such as 90 (seconds), 10m or 2d, or a time: RFC 3339, or
// 2026-11-22 08:30[:15] in `zone`. INVALID_ARGUMENT: it is neither.
absl::StatusOr<absl::Time> ParseSince(const std::string& text, absl::Time now, absl::TimeZone zone);

}  // namespace accel::cli
