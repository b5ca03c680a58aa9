#include "logs/log_paths.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace accel::logs {
namespace {

constexpr char kGenerationPrefix[] = "gen_";
constexpr char kRankPrefix[] = "rank_";
constexpr char kStdoutPrefix[] = "stdout.";
constexpr char kStderrPrefix[] = "stderr.";
constexpr size_t kOffsetDigits = 20;

// Accepts digits only, because SimpleAtoi() would also accept a sign and spaces.
template <typename Int>
std::optional<Int> ParseDigits(absl::string_view text) {
  Int value = 0;
  for (char c : text) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) return std::nullopt;
  }
  if (!absl::SimpleAtoi(text, &value)) return std::nullopt;
  return value;
}

template <typename Visit>
void VisitFolder(const std::string& path, Visit visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path.c_str()), closedir);
  if (folder == nullptr) return;
  while (const dirent* found = readdir(folder.get())) visit(absl::string_view(found->d_name));
}

}  // namespace

std::string JobLogDir(absl::string_view base, absl::string_view job_id) {
  return absl::StrCat(base, "/", job_id);
}

std::string GenerationLogDir(absl::string_view job_dir, int generation) {
  return absl::StrCat(job_dir, "/", kGenerationPrefix, generation);
}

std::string RankLogDir(absl::string_view log_dir, int rank) {
  return absl::StrCat(log_dir, "/", kRankPrefix, rank);
}

std::string WorkerErrorFile(absl::string_view log_dir, int rank) {
  return absl::StrCat(RankLogDir(log_dir, rank), "/error.json");
}

std::string SegmentName(LogStream stream, int64_t offset) {
  return absl::StrCat(stream == LogStream::kStdout ? kStdoutPrefix : kStderrPrefix,
                      absl::Dec(offset, absl::kZeroPad20));
}

std::string TimesPath(absl::string_view rank_dir, LogStream stream) {
  return absl::StrCat(rank_dir, "/", stream == LogStream::kStdout ? kStdoutPrefix : kStderrPrefix,
                      "times");
}

std::optional<int> ParseRankDir(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, kRankPrefix)) return std::nullopt;
  return ParseDigits<int>(name);
}

std::optional<SegmentId> ParseSegmentName(absl::string_view name) {
  SegmentId id;
  if (absl::ConsumePrefix(&name, kStderrPrefix)) {
    id.stream = LogStream::kStderr;
  } else if (!absl::ConsumePrefix(&name, kStdoutPrefix)) {
    return std::nullopt;
  }
  const auto offset = ParseDigits<int64_t>(name);
  if (name.size() != kOffsetDigits || !offset.has_value()) return std::nullopt;
  id.offset = *offset;
  return id;
}

common::UniqueFd OpenOutput(const std::string& path) {
  common::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info = {};
  if (file.valid() && (fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode))) file.reset();
  return file;
}

std::vector<int64_t> ListSegments(const std::string& rank_dir, LogStream stream) {
  std::vector<int64_t> offsets;
  VisitFolder(rank_dir, [&](absl::string_view name) {
    const auto id = ParseSegmentName(name);
    if (id.has_value() && id->stream == stream) offsets.push_back(id->offset);
  });
  std::sort(offsets.begin(), offsets.end());
  return offsets;
}

std::vector<int> ListGenerations(const std::string& job_dir) {
  std::vector<int> generations;
  VisitFolder(job_dir, [&](absl::string_view name) {
    if (!absl::ConsumePrefix(&name, kGenerationPrefix)) return;
    if (const auto generation = ParseDigits<int>(name)) generations.push_back(*generation);
  });
  std::sort(generations.begin(), generations.end());
  return generations;
}

std::vector<int> ListRanks(const std::string& log_dir) {
  std::vector<int> ranks;
  VisitFolder(log_dir, [&](absl::string_view name) {
    if (const auto rank = ParseRankDir(name)) ranks.push_back(*rank);
  });
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

}  // namespace accel::logs
