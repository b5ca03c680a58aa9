#include "shim/host/shim_record.h"

#include <functional>
#include <map>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace accel::shim {
namespace {

// The first line of a record. Its number is the version, which rises when older releases can no
// longer read the fields.
constexpr absl::string_view kFirstLine = "accel shim record 1";
constexpr size_t kMaxRecordBytes = 64 << 10;

using Fields = std::map<std::string, std::string, std::less<>>;

// Returns the field's value, or "" if it is missing.
std::string Text(const Fields& fields, absl::string_view name) {
  const auto found = fields.find(name);
  std::string value;
  if (found == fields.end() || !absl::CUnescape(found->second, &value)) return "";
  return value;
}

// Returns the field's value, or 0 if it is missing or not a number.
template <typename Integer>
Integer Number(const Fields& fields, absl::string_view name) {
  Integer value = 0;
  const auto found = fields.find(name);
  if (found == fields.end() || !absl::SimpleAtoi(found->second, &value)) return 0;
  return value;
}

std::vector<int> Ranks(absl::string_view text) {
  std::vector<int> ranks;
  for (absl::string_view word : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    int rank = 0;
    if (!absl::SimpleAtoi(word, &rank) || rank < 0 || ranks.size() >= kMaxWorkers) return {};
    ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace

std::string FormatRecord(const ShimRecord& record) {
  const std::pair<absl::string_view, std::string> fields[] = {
      {"boot_id", absl::CEscape(record.boot_id)},
      {"pid", absl::StrCat(record.pid)},
      {"start_time_ticks", absl::StrCat(record.start_time_ticks)},
      {"generation", absl::StrCat(record.generation)},
      {"ranks", absl::StrJoin(record.ranks, ",")},
      {"log_dir", absl::CEscape(record.log_dir)},
      {"cgroup", absl::CEscape(record.cgroup)},
      {"memory_cgroup", absl::CEscape(record.memory_cgroup)},
      {"pids_cgroup", absl::CEscape(record.pids_cgroup)},
      {"orphan_grace_ms", absl::StrCat(absl::ToInt64Milliseconds(record.orphan_grace))},
      {"keep_without_agent", absl::StrCat(record.keep_without_agent ? 1 : 0)},
      {"requires_contact", absl::StrCat(record.requires_contact ? 1 : 0)},
      {"uid", absl::StrCat(record.uid)},
      {"gid", absl::StrCat(record.gid)},
      {"job_cgroup", absl::CEscape(record.job_cgroup)},
      {"job_memory_cgroup", absl::CEscape(record.job_memory_cgroup)},
      {"job_pids_cgroup", absl::CEscape(record.job_pids_cgroup)},
  };
  std::string text = absl::StrCat(kFirstLine, "\n");
  for (const auto& [name, value] : fields) absl::StrAppend(&text, name, "=", value, "\n");
  return text;
}

absl::StatusOr<ShimRecord> ParseRecord(absl::string_view text) {
  std::vector<absl::string_view> lines;
  if (text.size() <= kMaxRecordBytes) lines = absl::StrSplit(text, '\n');
  if (lines.empty() || lines[0] != kFirstLine) {
    return absl::InvalidArgumentError(absl::StrCat("It does not begin with \"", kFirstLine, "\"."));
  }
  Fields fields;
  for (absl::string_view line : lines) {
    const std::pair<std::string, std::string> field = absl::StrSplit(line, absl::MaxSplits('=', 1));
    fields.insert(field);
  }
  ShimRecord record;
  record.boot_id = Text(fields, "boot_id");
  record.pid = Number<pid_t>(fields, "pid");
  record.start_time_ticks = Number<uint64_t>(fields, "start_time_ticks");
  record.generation = Number<int>(fields, "generation");
  const auto ranks = fields.find("ranks");
  if (ranks != fields.end()) record.ranks = Ranks(ranks->second);
  record.log_dir = Text(fields, "log_dir");
  record.cgroup = Text(fields, "cgroup");
  record.memory_cgroup = Text(fields, "memory_cgroup");
  record.pids_cgroup = Text(fields, "pids_cgroup");
  record.orphan_grace = absl::Milliseconds(Number<int64_t>(fields, "orphan_grace_ms"));
  record.keep_without_agent = Number<int>(fields, "keep_without_agent") != 0;
  record.requires_contact = Number<int>(fields, "requires_contact") != 0;
  record.uid = Number<uid_t>(fields, "uid");
  record.gid = Number<gid_t>(fields, "gid");
  record.job_cgroup = Text(fields, "job_cgroup");
  record.job_memory_cgroup = Text(fields, "job_memory_cgroup");
  record.job_pids_cgroup = Text(fields, "job_pids_cgroup");
  if (record.generation < 0 || record.pid < 0 || record.orphan_grace < absl::ZeroDuration()) {
    return absl::InvalidArgumentError("It has a negative number.");
  }
  return record;
}

GenerationReport ReportFrom(const common::JobId& job, const ShimRecord& record) {
  GenerationReport report;
  report.id = {job, record.generation};
  report.log_dir = record.log_dir;
  report.orphan_grace = record.orphan_grace;
  for (size_t local_rank = 0; local_rank < record.ranks.size(); ++local_rank) {
    WorkerReport worker;
    worker.rank = record.ranks[local_rank];
    worker.local_rank = static_cast<int>(local_rank);
    report.workers.push_back(std::move(worker));
  }
  return report;
}

}  // namespace accel::shim
