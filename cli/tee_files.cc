#include "cli/tee_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "cli/dropped_note.h"
#include "cli/write_whole.h"

namespace accel::cli {
namespace {

absl::Status Failed(absl::string_view what, const std::string& path, int error,
                    absl::string_view so) {
  return absl::UnavailableError(
      absl::StrCat("cannot ", what, " ", path, ": ", strerror(error), so));
}

constexpr char kIncomplete[] =
    "; the copies of --tee are incomplete, and the terminal has all output";

}  // namespace

void TeeFiles::Add(const std::string& attempt_dir, int local_rank, bool is_stdout, int64_t gap,
                   absl::string_view bytes) {
  if (attempt_dir != attempt_dir_) files_.clear();
  attempt_dir_ = attempt_dir;
  const std::string folder = absl::StrCat(attempt_dir, "/", local_rank);
  const std::string path = absl::StrCat(folder, is_stdout ? "/stdout.log" : "/stderr.log");
  const auto [file, is_new] = files_.try_emplace({local_rank, is_stdout});
  if (is_new) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
      return status_.Update(Failed("make the folder", folder, error.value(), kIncomplete));
    }
    file->second.reset(
        open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (!file->second.valid()) return status_.Update(Failed("make", path, errno, kIncomplete));
  }
  if (!file->second.valid()) return;
  std::string text;
  if (gap > 0) text = DroppedNote(gap) + "\n";
  for (absl::string_view rest : {absl::string_view(text), bytes}) {
    const int error = WriteWhole(file->second.get(), &rest);
    if (error == 0) continue;
    file->second.reset();
    return status_.Update(Failed("write", path, error, kIncomplete));
  }
}

void TeeFiles::LinkErrorFile(const std::string& attempt_dir, int local_rank,
                             const std::string& error_file) {
  const std::string folder = absl::StrCat(attempt_dir, "/", local_rank);
  std::error_code error;
  if (!std::filesystem::exists(error_file, error)) return;
  std::filesystem::create_directories(folder, error);
  const std::string link = absl::StrCat(folder, "/error.json");
  const std::string target = std::filesystem::relative(error_file, folder, error).string();
  if (!error) std::filesystem::create_symlink(target, link, error);
  if (error) status_.Update(Failed("make the link", link, error.value(), ""));
}

}  // namespace accel::cli
