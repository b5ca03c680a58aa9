#include "upload/local_tree.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "security/sha256.h"
#include "upload/blob_folder.h"
#include "upload/core/ignore_rules.h"

namespace accel::upload {
namespace {

namespace fs = std::filesystem;

constexpr char kIgnoreFile[] = "/.accelignore";
constexpr unsigned kMaxThreads = 4;
// Maximum number of folder entries that are examined. It exceeds kMaxEntries, because most entries
// may be left out. It bounds the time if `path` is a large folder by mistake.
constexpr int kMaxLooks = 1'000'000;

absl::Status Failed(absl::string_view what, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", what, " ", path));
}

absl::StatusOr<IgnoreRules> ReadRules(const std::string& root) {
  const std::string path = root + kIgnoreFile;
  const common::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid() && errno == ENOENT) return IgnoreRules::Parse("");
  std::string text(kMaxIgnoreBytes + 1, '\0');
  const ssize_t got = file.valid() ? read(file.get(), text.data(), text.size()) : -1;
  if (got < 0) return Failed("read", path);
  text.resize(static_cast<size_t>(got));
  absl::StatusOr<IgnoreRules> rules = IgnoreRules::Parse(text);
  if (rules.ok()) return rules;
  return absl::Status(rules.status().code(), absl::StrCat(path, ": ", rules.status().message()));
}

class Lister {
 public:
  Lister(LocalTree* local, IgnoreRules rules) : local_(*local), rules_(std::move(rules)) {}

  // Adds the content of a folder. `folder` is relative to the root: "", or a path with a slash
  // at its end.
  absl::Status AddFolder(const std::string& folder) {
    std::error_code error;
    for (fs::directory_iterator entry(local_.root + "/" + folder, error), end;
         !error && entry != end; entry.increment(error)) {
      if (++looks_ > kMaxLooks) {
        return absl::ResourceExhaustedError(absl::StrCat(local_.root, " has more than ", kMaxLooks,
                                                         " files; choose a smaller "
                                                         "folder"));
      }
      ACCEL_RETURN_IF_ERROR(Add(folder + entry->path().filename().string()));
    }
    if (!error) return absl::OkStatus();
    errno = error.value();
    return Failed("read the folder", local_.root + "/" + folder);
  }

  absl::Status Add(const std::string& path) {
    const std::string full = absl::StrCat(local_.root, "/", path);
    struct stat info = {};
    if (lstat(full.c_str(), &info) != 0) return Failed("read", full);
    const bool is_folder = S_ISDIR(info.st_mode);
    if (rules_.LeavesOut(path, is_folder) ||
        (is_folder && access((full + "/pyvenv.cfg").c_str(), F_OK) == 0)) {
      local_.left_out.push_back(path + (is_folder ? "/" : ""));
      return absl::OkStatus();
    }
    if (is_folder) return AddFolder(path + "/");
    if (local_.tree.size() > kMaxEntries) return absl::OkStatus();  // CheckTree() refuses it.
    TreeEntry entry = {.path = path};
    if (S_ISLNK(info.st_mode)) {
      entry.link.resize(kMaxPathBytes + 1);
      const ssize_t size = readlink(full.c_str(), entry.link.data(), entry.link.size());
      if (size < 0) return Failed("read the link", full);
      entry.link.resize(static_cast<size_t>(size));
    } else if (S_ISREG(info.st_mode)) {
      entry.executable = (info.st_mode & 0111) != 0;
      entry.size = info.st_size;
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat(path,
                       " cannot be uploaded: it is neither a file nor a folder nor a link; "
                       ".accelignore can leave it out"));
    }
    local_.tree.push_back(std::move(entry));
    return absl::OkStatus();
  }

 private:
  LocalTree& local_;
  const IgnoreRules rules_;
  int looks_ = 0;
};

absl::Status Changed(const TreeEntry& entry) {
  return absl::AbortedError(
      absl::StrCat(entry.path, " changed while it was uploaded; submit again"));
}

}  // namespace

absl::StatusOr<LocalTree> ListTree(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), free);
  if (real == nullptr) return Failed("upload", path);
  LocalTree local = {.root = real.get()};
  struct stat info = {};
  if (stat(real.get(), &info) != 0) return Failed("upload", path);
  if (S_ISDIR(info.st_mode)) {
    ACCEL_ASSIGN_OR_RETURN(IgnoreRules rules, ReadRules(local.root));
    ACCEL_RETURN_IF_ERROR(Lister(&local, std::move(rules)).AddFolder(""));
  } else {
    const size_t slash = local.root.rfind('/');
    const std::string name = local.root.substr(slash + 1);
    local.root.resize(slash);
    ACCEL_RETURN_IF_ERROR(Lister(&local, IgnoreRules()).Add(name));
  }
  std::sort(local.tree.begin(), local.tree.end(),
            [](const TreeEntry& a, const TreeEntry& b) { return a.path < b.path; });
  std::sort(local.left_out.begin(), local.left_out.end());
  ACCEL_RETURN_IF_ERROR(CheckTree(local.tree));
  return local;
}

absl::Status ReadEntry(const LocalTree& local, const TreeEntry& entry,
                       const std::function<absl::Status(absl::string_view)>& take) {
  const std::string path = absl::StrCat(local.root, "/", entry.path);
  // O_NONBLOCK, because a FIFO may have replaced the file.
  const common::UniqueFd file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return Failed("read", path);
  const auto buffer = std::make_unique_for_overwrite<char[]>(kMaxChunkBytes);
  int64_t total = 0;
  while (true) {
    const ssize_t got = read(file.get(), buffer.get(), kMaxChunkBytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed("read", path);
    if (got == 0) break;
    total += got;
    if (total > entry.size) return Changed(entry);
    ACCEL_RETURN_IF_ERROR(take(absl::string_view(buffer.get(), static_cast<size_t>(got))));
  }
  return total == entry.size ? absl::OkStatus() : Changed(entry);
}

absl::Status HashTree(LocalTree* local) {
  std::atomic<size_t> next{0};
  absl::Mutex mutex;
  absl::Status first;
  const auto work = [&] {
    for (size_t i = next++; i < local->tree.size(); i = next++) {
      TreeEntry& entry = local->tree[i];
      if (entry.is_link()) continue;
      security::Sha256Stream hash;
      const absl::Status read = ReadEntry(*local, entry, [&](absl::string_view bytes) {
        hash.Add(bytes);
        return absl::OkStatus();
      });
      if (read.ok()) {
        entry.sha256 = hash.HexDigest();
        continue;
      }
      absl::MutexLock lock(&mutex);
      first.Update(read);
      return;
    }
  };
  std::vector<std::thread> threads;
  const unsigned count = std::clamp(std::thread::hardware_concurrency(), 1u, kMaxThreads);
  for (unsigned i = 1; i < count; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return first;
}

}  // namespace accel::upload
