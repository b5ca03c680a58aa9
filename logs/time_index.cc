#include "logs/time_index.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "common/boot_id.h"

namespace accel::logs {
namespace {

// Maximum size of the file that is read. The marks of one stream are
// much smaller (logs/core/time_marks.h).
constexpr size_t kMaxTimesBytes = 1 << 20;
constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW;

int64_t Milliseconds(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

// Returns the first kMaxTimesBytes of the file. A larger file was not made by a TimeIndexWriter.
std::string ReadTimes(const std::string& path) {
  const common::UniqueFd file = OpenOutput(path);
  std::string text(kMaxTimesBytes, '\0');
  const ssize_t size = file.valid() ? pread(file.get(), text.data(), text.size(), 0) : 0;
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return text;
}

bool Append(int file, const std::string& text) {
  return write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace

TimeIndexWriter::TimeIndexWriter(const std::string& rank_dir, LogStream stream)
    : path_(TimesPath(rank_dir, stream)) {}

void TimeIndexWriter::Note(int64_t offset) {
  const TimeMarks::Change change =
      marks_.Note(offset, Milliseconds(CLOCK_BOOTTIME), Milliseconds(CLOCK_REALTIME));
  if (change == TimeMarks::Change::kNone) return;
  const bool added = change == TimeMarks::Change::kAdded && file_.valid() &&
                     Append(file_.get(), TimesLine(marks_.marks().back()));
  if (!added) Rewrite();
}

// Writes all marks to a new file, which then replaces the old one.
void TimeIndexWriter::Rewrite() {
  const std::string fresh = path_ + ".new";
  std::string text = TimesHeader(common::BootId());
  for (const TimeMark& mark : marks_.marks()) text += TimesLine(mark);
  file_.reset(open(fresh.c_str(), kFlags, 0644));
  if (file_.valid() && Append(file_.get(), text) && rename(fresh.c_str(), path_.c_str()) == 0) {
    return;
  }
  file_.reset();
  unlink(fresh.c_str());
}

int64_t FindSince(const std::string& rank_dir, LogStream stream, int64_t since_unix_ms) {
  // The size is read before the marks, because bytes that are added between the two calls then have
  // their own mark.
  const int64_t end = StreamEnd(rank_dir, stream);
  Times times = ParseTimes(ReadTimes(TimesPath(rank_dir, stream)));
  if (times.boot_id != common::BootId()) {
    return OffsetSince(InWallTime(std::move(times.marks)), since_unix_ms, end);
  }
  const int64_t age = Milliseconds(CLOCK_REALTIME) - since_unix_ms;
  return OffsetSince(times.marks, Milliseconds(CLOCK_BOOTTIME) - age, end);
}

int64_t StreamEnd(const std::string& rank_dir, LogStream stream) {
  const std::vector<int64_t> segments = ListSegments(rank_dir, stream);
  if (segments.empty()) return 0;
  const common::UniqueFd newest =
      OpenOutput(absl::StrCat(rank_dir, "/", SegmentName(stream, segments.back())));
  struct stat info = {};
  if (newest.valid()) fstat(newest.get(), &info);
  return segments.back() + info.st_size;
}

}  // namespace accel::logs
