#include "shim/host/shim_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>
#include <variant>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "process/remove_below.h"
#include "process/user_rights.h"
#include "shim/channel.h"
#include "shim/shim_program.h"
#include "shim/unix_socket.h"

namespace accel::shim {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kRecordPrefix = "record.";
constexpr char kUsers[] = "user";
constexpr size_t kMaxFileBytes = kMaxPayloadBytes + kFrameHeaderBytes;

std::string RecordName(common::Generation generation) {
  return absl::StrCat(kRecordPrefix, generation);
}

std::vector<std::string> Files(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  return names;
}

bool IsName(const std::string& job) {
  return !job.empty() && job[0] != '.' && job.find('/') == std::string::npos;
}

}  // namespace

absl::StatusOr<ShimFolder> ShimFolder::Make(const std::string& shims_dir,
                                            const common::JobId& job) {
  if (!IsName(job.value())) {
    return absl::InvalidArgumentError(
        absl::StrCat("The id of job ", job.value(), " is no name of a folder."));
  }
  std::string path = absl::StrCat(shims_dir, "/", job.value());
  if ((mkdir(shims_dir.c_str(), 0700) != 0 && errno != EEXIST) ||
      (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)) {
    return absl::ErrnoToStatus(errno, absl::StrCat("Cannot make the folder ", path));
  }
  common::UniqueFd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("Cannot open ", path));
  ShimFolder made(std::move(path), std::move(folder));
  ACCEL_RETURN_IF_ERROR(made.OpenUsers());
  return made;
}

absl::Status ShimFolder::MakeUsers(const process::Account& user) {
  const std::string users = absl::StrCat(path_, "/", kUsers);
  if (mkdirat(folder_.get(), kUsers, 0700) != 0 ||
      fchownat(folder_.get(), kUsers, user.uid, user.gid, AT_SYMLINK_NOFOLLOW) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("Cannot make the folder ", users));
  }
  return OpenUsers();
}

absl::Status ShimFolder::OpenUsers() {
  users_.reset(openat(folder_.get(), kUsers, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!users_.valid() && errno == ENOENT) return absl::OkStatus();
  struct stat info = {};
  if (!users_.valid() || fstat(users_.get(), &info) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("Cannot open ", path_, "/", kUsers));
  }
  user_.uid = info.st_uid;
  user_.gid = info.st_gid;
  user_.groups = {info.st_gid};
  return absl::OkStatus();
}

std::vector<common::JobId> ShimFolder::List(const std::string& shims_dir) {
  std::vector<common::JobId> jobs;
  std::error_code error;
  for (fs::directory_iterator entry(shims_dir, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_directory(error)) jobs.emplace_back(entry->path().filename().string());
  }
  return jobs;
}

absl::Status ShimFolder::Write(const std::string& name, const std::string& content) const {
  const std::string aside = name + ".new";
  const common::UniqueFd file(
      openat(folder_.get(), aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  errno = file.valid() ? 0 : errno;
  if (!file.valid() ||
      write(file.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size()) ||
      renameat(folder_.get(), aside.c_str(), folder_.get(), name.c_str()) != 0) {
    return absl::ErrnoToStatus(errno == 0 ? ENOSPC : errno,
                               absl::StrCat("Cannot write ", path_, "/", name));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ShimFolder::ReadFromShim(const std::string& name) const {
  if (!users_.valid()) return Read(folder_.get(), name);
  const process::UserRights rights(user_);
  return Read(users_.get(), name);
}

absl::StatusOr<std::string> ShimFolder::Read(int folder, const std::string& name) const {
  // The flags are needed because a user may have put a link or a FIFO there.
  const common::UniqueFd file(
      openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info = {};
  if (!file.valid() || fstat(file.get(), &info) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("Cannot open ", path_, "/", name));
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path_, "/", name, " is no file."));
  }
  if (static_cast<size_t>(info.st_size) > kMaxFileBytes) {
    return absl::InvalidArgumentError(absl::StrCat(path_, "/", name, " is too large."));
  }
  std::string content(static_cast<size_t>(info.st_size), '\0');
  const ssize_t size = read(file.get(), content.data(), content.size());
  if (size < 0) return absl::ErrnoToStatus(errno, absl::StrCat("Cannot read ", path_, "/", name));
  content.resize(static_cast<size_t>(size));
  return content;
}

absl::Status ShimFolder::WriteRecord(const ShimRecord& record) const {
  ACCEL_RETURN_IF_ERROR(Write(RecordName(record.generation), FormatRecord(record)));
  // Records that still remain have lower numbers and do not count.
  for (const common::Generation older : {0, record.generation - 1}) {
    if (older < record.generation) unlinkat(folder_.get(), RecordName(older).c_str(), 0);
  }
  return absl::OkStatus();
}

absl::StatusOr<ShimRecord> ShimFolder::ReadRecord() const {
  common::Generation newest = -1;
  for (const std::string& name : Files(path_)) {
    absl::string_view number = name;
    common::Generation generation = 0;
    if (!absl::ConsumePrefix(&number, kRecordPrefix)) continue;
    if (absl::SimpleAtoi(number, &generation)) newest = std::max(newest, generation);
  }
  if (newest < 0) return absl::NotFoundError(absl::StrCat(path_, " has no record."));
  ACCEL_ASSIGN_OR_RETURN(const std::string text, Read(folder_.get(), RecordName(newest)));
  return ParseRecord(text);
}

absl::StatusOr<common::UniqueFd> ShimFolder::Listen() const {
  return ListenIn(folder_.get(), kShimSocketName);
}

absl::StatusOr<common::UniqueFd> ShimFolder::Connect() const {
  return ConnectIn(folder_.get(), kShimSocketName);
}

void ShimFolder::WriteResult(const GenerationReport& report) const {
  Write(kShimResultName, EncodeFrame(FrameType::kReport, EncodeReport(report))).IgnoreError();
}

std::optional<GenerationReport> ShimFolder::ReadResult() const {
  // The agent itself may have written the result of a shim that died.
  absl::StatusOr<std::string> bytes = Read(folder_.get(), kShimResultName);
  if (!bytes.ok()) bytes = ReadFromShim(kShimResultName);
  if (!bytes.ok()) return std::nullopt;
  const absl::StatusOr<Frame> frame = DecodeFrame(*bytes);
  if (!frame.ok()) return std::nullopt;
  absl::StatusOr<ShimMessage> message = DecodeMessage(frame->type, frame->payload);
  if (!message.ok() || !std::holds_alternative<GenerationReport>(*message)) return std::nullopt;
  return std::get<GenerationReport>(*std::move(message));
}

common::Generation ShimFolder::ReadStarted() const {
  const absl::StatusOr<std::string> text = ReadFromShim(kShimStartedName);
  if (absl::IsNotFound(text.status())) return 0;
  common::Generation generation = 0;
  const bool is_number = text.ok() && absl::SimpleAtoi(*text, &generation);
  return is_number ? generation : std::numeric_limits<common::Generation>::max();
}

void ShimFolder::ClearUsers() const {
  if (!users_.valid()) return;
  const process::UserRights rights(user_);
  process::RemoveBelow(users_.get());
}

void ShimFolder::Clear() {
  ClearUsers();
  users_.reset();
  unlinkat(folder_.get(), kUsers, AT_REMOVEDIR);
  for (const std::string& name : Files(path_)) unlinkat(folder_.get(), name.c_str(), 0);
}

void ShimFolder::Remove() {
  Clear();
  std::error_code error;
  fs::remove(path_, error);
  folder_.reset();
}

}  // namespace accel::shim
