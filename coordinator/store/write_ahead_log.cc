#include "coordinator/store/write_ahead_log.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace accel::coordinator {
namespace {

constexpr size_t kHeaderBytes = 32;
constexpr size_t kFrameHeaderBytes = 24;
constexpr uint32_t kMagic = 0x377f0682;  // The lowest bit is set if checksums are big-endian.
constexpr uint32_t kVersion = 3007000;

uint32_t BigEndian(absl::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

struct Checksum {
  uint32_t s0 = 0;
  uint32_t s1 = 0;

  // Adds bytes, whose number is a multiple of 8.
  void Add(absl::string_view bytes, bool big_endian) {
    for (size_t at = 0; at < bytes.size(); at += 8) {
      s0 += Word(bytes, at, big_endian) + s1;
      s1 += Word(bytes, at + 4, big_endian) + s0;
    }
  }

  static uint32_t Word(absl::string_view bytes, size_t at, bool big_endian) {
    const uint32_t value = BigEndian(bytes, at);
    return big_endian ? value : __builtin_bswap32(value);
  }

  bool operator==(const Checksum&) const = default;
};

// The frames of a log whose header is valid.
class Frames {
 public:
  explicit Frames(absl::string_view log)
      : log_(log), big_endian_(BigEndian(log, 0) & 1), page_bytes_(BigEndian(log, 8)) {}

  bool HasSoundHeader() const {
    if ((BigEndian(log_, 0) & ~1u) != kMagic || BigEndian(log_, 4) != kVersion) return false;
    Checksum sum;
    sum.Add(log_.substr(0, 24), big_endian_);
    return sum == Start() && page_bytes_ >= 512 && page_bytes_ <= 65536 && page_bytes_ % 512 == 0;
  }

  size_t count() const { return (log_.size() - kHeaderBytes) / frame_bytes(); }
  size_t Position(size_t i) const { return kHeaderBytes + i * frame_bytes(); }

  // Returns the checksum with which the first frame continues.
  Checksum Start() const { return {BigEndian(log_, 24), BigEndian(log_, 28)}; }
  // Returns the checksum that the frame contains, with which the next frame continues.
  Checksum Stored(size_t i) const {
    return {BigEndian(log_, Position(i) + 16), BigEndian(log_, Position(i) + 20)};
  }
  // Returns the checksum that the frame should contain if it continues with `sum`.
  Checksum Computed(size_t i, const Checksum& sum) const {
    return Computed(i, log_.substr(Position(i), 8), sum);
  }
  // Returns true if the frame was written to this log after a frame with the checksum `sum`. A
  // frame that the file contained before this log has other salts in its header.
  bool Follows(size_t i, const Checksum& sum) const {
    return log_.substr(Position(i) + 8, 8) == log_.substr(16, 8) && Computed(i, sum) == Stored(i);
  }
  bool EndsCommit(size_t i) const { return CommitPages(i) != 0; }
  // Returns true if the frame ended a commit before one bit of its commit size flipped, so that the
  // size is now 0. With that bit, the frame matches its checksum.
  bool EndedCommit(size_t i, const Checksum& sum) const {
    if (EndsCommit(i)) return false;
    for (int bit = 0; bit < 32; ++bit) {
      std::string fields(log_.substr(Position(i), 8));
      fields[static_cast<size_t>(7 - bit / 8)] = static_cast<char>(1 << bit % 8);
      if (Computed(i, fields, sum) == Stored(i)) return true;
    }
    return false;
  }

 private:
  // Returns the number of pages of the database after the commit that the frame ends, or 0 if it
  // ends no commit.
  uint32_t CommitPages(size_t i) const { return BigEndian(log_, Position(i) + 4); }
  // Does the same as Computed() above, for a frame whose page number and commit size are `fields`.
  Checksum Computed(size_t i, absl::string_view fields, Checksum sum) const {
    sum.Add(fields, big_endian_);
    sum.Add(log_.substr(Position(i) + kFrameHeaderBytes, page_bytes_), big_endian_);
    return sum;
  }
  size_t frame_bytes() const { return kFrameHeaderBytes + page_bytes_; }

  const absl::string_view log_;
  const bool big_endian_;
  const size_t page_bytes_;
};

}  // namespace

absl::Status CheckWriteAheadLog(absl::string_view log) {
  // SQLite syncs the header before it writes the first frame.
  if (log.size() < kHeaderBytes + kFrameHeaderBytes) return absl::OkStatus();
  const Frames frames(log);
  if (!frames.HasSoundHeader()) {
    return absl::DataLossError("the header of its write-ahead log is wrong");
  }
  size_t first_bad = 0;
  Checksum sum = frames.Start();
  for (; first_bad < frames.count() && frames.Follows(first_bad, sum); ++first_bad) {
    sum = frames.Stored(first_bad);
  }
  // The first bad frame may be intact except for its stored checksum. The next frame then continues
  // with the computed one.
  const Checksum whole = first_bad < frames.count() ? frames.Computed(first_bad, sum) : sum;
  for (size_t i = first_bad + 1; i < frames.count(); ++i) {
    if (!frames.EndsCommit(i - 1) && (i > first_bad + 1 || !frames.EndedCommit(first_bad, sum))) {
      continue;
    }
    if (frames.Follows(i, frames.Stored(i - 1)) ||
        (i == first_bad + 1 && frames.Follows(i, whole))) {
      return absl::DataLossError(absl::StrCat(
          "frame ", first_bad + 1, " of its write-ahead log, at byte ", frames.Position(first_bad),
          ", does not match its checksum, and commits follow it"));
    }
  }
  return absl::OkStatus();
}

}  // namespace accel::coordinator
