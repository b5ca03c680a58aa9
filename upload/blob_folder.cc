#include "upload/blob_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "upload/core/tree.h"

namespace accel::upload {
namespace {

namespace fs = std::filesystem;

constexpr char kTemporary[] = "/tmp";

absl::Status Failed(absl::string_view what, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", what, " ", path));
}

absl::Status MakeFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return absl::OkStatus();
  return Failed("make the folder", path);
}

int64_t Nanoseconds(const timespec& time) {
  return absl::ToInt64Nanoseconds(absl::DurationFromTimespec(time));
}

BlobStamp StampFrom(const struct stat& info) {
  return {.device = info.st_dev,
          .inode = info.st_ino,
          .size = info.st_size,
          .modified_ns = Nanoseconds(info.st_mtim),
          .changed_ns = Nanoseconds(info.st_ctim)};
}

// Syncs the file system of the folder, because one such call serves any number of files.
absl::Status Sync(const std::string& folder) {
  const common::UniqueFd opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.valid() && syncfs(opened.get()) == 0) return absl::OkStatus();
  return Failed("write to the disk what is in", folder);
}

}  // namespace

BlobWriter::~BlobWriter() {
  if (!path_.empty()) unlink(path_.c_str());
}

absl::Status BlobWriter::Append(absl::string_view bytes) {
  if (static_cast<int64_t>(bytes.size()) > size_ - written_) {
    return absl::InvalidArgumentError(
        absl::StrCat("the file with the hash ", sha256_, " has more than its ", size_, " bytes"));
  }
  hash_.Add(bytes);
  written_ += static_cast<int64_t>(bytes.size());
  while (!bytes.empty()) {
    const ssize_t put = write(file_.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return Failed("write", path_);
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  if (written_ < size_) return absl::OkStatus();
  if (const std::string digest = hash_.HexDigest(); digest != sha256_) {
    return absl::InvalidArgumentError(absl::StrCat("what was sent as the file with the hash ",
                                                   sha256_, " has the hash ", digest));
  }
  is_whole_ = true;
  // The file is closed already, because many whole blobs may wait for their names while
  // descriptors are few.
  file_ = common::UniqueFd();
  return absl::OkStatus();
}

absl::StatusOr<BlobFolder> BlobFolder::Open(const std::string& path) {
  ACCEL_RETURN_IF_ERROR(MakeFolder(path));
  const std::string temporary = path + kTemporary;
  ACCEL_RETURN_IF_ERROR(MakeFolder(temporary));
  std::error_code error;
  for (fs::directory_iterator entry(temporary, error), end; !error && entry != end;
       entry.increment(error)) {
    fs::remove(entry->path(), error);
  }
  return BlobFolder(path);
}

std::string BlobFolder::PathOf(const std::string& sha256) const {
  return absl::StrCat(path_, "/", sha256.substr(0, 2), "/", sha256);
}

bool BlobFolder::Has(const std::string& sha256, int64_t size) const {
  struct stat info = {};
  return stat(PathOf(sha256).c_str(), &info) == 0 && info.st_size == size;
}

std::optional<BlobStamp> BlobFolder::StampOf(const std::string& sha256) const {
  struct stat info = {};
  if (lstat(PathOf(sha256).c_str(), &info) != 0) return std::nullopt;
  return StampFrom(info);
}

std::optional<BlobStamp> BlobFolder::StampOf(const common::UniqueFd& file) {
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return std::nullopt;
  return StampFrom(info);
}

absl::StatusOr<common::UniqueFd> BlobFolder::OpenBlob(const std::string& sha256) const {
  const std::string path = PathOf(sha256);
  common::UniqueFd file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid()) return Failed("open", path);
  return file;
}

absl::StatusOr<std::unique_ptr<BlobWriter>> BlobFolder::Begin(const std::string& sha256,
                                                              int64_t size) const {
  std::string path = absl::StrCat(path_, kTemporary, "/XXXXXX");
  common::UniqueFd file(mkostemp(path.data(), O_CLOEXEC));
  if (!file.valid()) return Failed("make a file in", path_);
  return std::make_unique<BlobWriter>(std::move(file), std::move(path), sha256, size);
}

absl::Status BlobFolder::Keep(const std::vector<std::unique_ptr<BlobWriter>>& blobs,
                              Durability durability) const {
  // The bytes are synced before they get their names, because a name must never lead to bytes that
  // are not on the disk.
  if (!blobs.empty() && durability != Durability::kNone) ACCEL_RETURN_IF_ERROR(Sync(path_));
  for (const std::unique_ptr<BlobWriter>& blob : blobs) {
    const std::string path = PathOf(blob->sha256());
    ACCEL_RETURN_IF_ERROR(MakeFolder(path.substr(0, path.rfind('/'))));
    if (rename(blob->path_.c_str(), path.c_str()) != 0) return Failed("make", path);
    blob->path_.clear();
  }
  return durability == Durability::kNames ? Sync(path_) : absl::OkStatus();
}

void BlobFolder::Touch(const std::string& sha256, absl::Time now) const {
  const timespec times[2] = {absl::ToTimespec(now), absl::ToTimespec(now)};
  utimensat(AT_FDCWD, PathOf(sha256).c_str(), times, AT_SYMLINK_NOFOLLOW);
}

void BlobFolder::Remove(const std::string& sha256) const { unlink(PathOf(sha256).c_str()); }

std::vector<BlobFile> BlobFolder::List() const {
  std::vector<BlobFile> blobs;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(path_, error), end; !error && entry != end;
       entry.increment(error)) {
    struct stat info = {};
    std::string name = entry->path().filename().string();
    if (!IsSha256(name) || lstat(entry->path().c_str(), &info) != 0) continue;
    blobs.push_back({std::move(name), info.st_size, absl::TimeFromTimespec(info.st_mtim)});
  }
  return blobs;
}

}  // namespace accel::upload
