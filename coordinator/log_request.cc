#include "coordinator/log_request.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/world_size.h"

namespace accel::coordinator {
namespace {

absl::Status CheckRanks(const v1::ReadLogsRequest& request, const v1::Job& job,
                        const v1::GenerationRecord& generation) {
  const int ranks = common::WorldSize(generation);
  const auto check = [&](int rank) -> absl::Status {
    if (rank >= 0 && rank < ranks) return absl::OkStatus();
    return absl::NotFoundError(absl::StrCat("generation ", generation.generation(), " of job ",
                                            job.job_id(), " has no rank ", rank, "; it has ",
                                            ranks));
  };
  for (const v1::RankRange& range : request.ranks()) {
    ACCEL_RETURN_IF_ERROR(check(range.first()));
    ACCEL_RETURN_IF_ERROR(check(range.last()));
  }
  return absl::OkStatus();
}

absl::Status CheckSelection(const v1::LogSelection& selection) {
  if (selection.tail() < 0) return absl::InvalidArgumentError("selection.tail: must be at least 0");
  if (selection.since_unix_ms() < 0) {
    return absl::InvalidArgumentError("selection.since_unix_ms: must be at least 0");
  }
  // Otherwise a newer command would get no output and no reason.
  if (!v1::LogStream_IsValid(selection.stream())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "selection.stream: this version of accel does not know stream ", selection.stream()));
  }
  if (selection.grep().size() > kMaxGrepBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "selection.grep: it has ", selection.grep().size(), " bytes; at most ", kMaxGrepBytes));
  }
  return absl::OkStatus();
}

bool IsWanted(const v1::ReadLogsRequest& request, int rank) {
  return request.ranks().empty() ||
         std::any_of(request.ranks().begin(), request.ranks().end(), [rank](const auto& range) {
           return range.first() <= rank && rank <= range.last();
         });
}

}  // namespace

absl::StatusOr<std::vector<WantedRank>> WantedRanks(const v1::ReadLogsRequest& request,
                                                    const v1::Job& job,
                                                    const v1::GenerationRecord& generation) {
  ACCEL_RETURN_IF_ERROR(CheckRanks(request, job, generation));
  ACCEL_RETURN_IF_ERROR(CheckSelection(request.selection()));
  std::map<std::pair<int, v1::LogStream>, int64_t> positions;
  for (const v1::LogPosition& position : request.positions()) {
    if (position.offset() < 0) {
      return absl::InvalidArgumentError("positions.offset: must be at least 0");
    }
    positions[{position.rank(), position.stream()}] = position.offset();
  }
  std::vector<WantedRank> wanted;
  for (const v1::Placement& placement : generation.placements()) {
    for (int rank = placement.first_rank(); rank < placement.first_rank() + placement.processes();
         ++rank) {
      if (!IsWanted(request, rank)) continue;
      v1::LogReader& reader = wanted.emplace_back(WantedRank{&placement, {}}).reader;
      reader.set_job_id(job.job_id());
      reader.set_generation(generation.generation());
      reader.set_rank(rank);
      reader.set_follow(request.follow());
      reader.set_log_dir(job.spec().log_dir());
      reader.set_runs_as(job.spec().runs_as());
      *reader.mutable_selection() = request.selection();
      const auto out = positions.find({rank, v1::STDOUT});
      const auto err = positions.find({rank, v1::STDERR});
      if (out != positions.end()) reader.set_stdout_offset(out->second);
      if (err != positions.end()) reader.set_stderr_offset(err->second);
    }
  }
  return wanted;
}

}  // namespace accel::coordinator
