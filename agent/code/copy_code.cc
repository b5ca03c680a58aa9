#include "agent/code/copy_code.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "agent/code/place_errors.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "process/user_rights.h"
#include "security/sha256.h"
#include "upload/blob_folder.h"

namespace accel::agent {
namespace {

constexpr unsigned kMaxThreads = 4;
constexpr size_t kFilesPerThread = 64;  // A thread for fewer costs more than it saves.

// The state of one thread, which copies one file after another.
class Copier {
 public:
  Copier(const process::Account& owner, int root, BlobCache* cache,
         const std::function<bool()>& may_go_on)
      : owner_(owner), root_(root), cache_(*cache), may_go_on_(may_go_on) {}

  absl::Status Place(const upload::TreeEntry& entry) {
    if (!may_go_on_()) return absl::CancelledError("the job no longer needs it");
    return entry.is_link() ? PlaceLink(entry) : PlaceFile(entry);
  }

 private:
  absl::Status MakeFoldersFor(const std::string& path) {
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    if (folder == last_folder_) return absl::OkStatus();
    for (size_t end = folder.find('/'); end != folder.npos; end = folder.find('/', end + 1)) {
      const std::string part = folder.substr(0, end);
      // Another thread may have made it.
      if (mkdirat(root_, part.c_str(), 0755) != 0 && errno != EEXIST) {
        return UserPlaceFailed("make the folder", part);
      }
    }
    last_folder_ = folder;
    return absl::OkStatus();
  }

  absl::Status PlaceLink(const upload::TreeEntry& entry) {
    const process::UserRights rights(owner_);
    ACCEL_RETURN_IF_ERROR(MakeFoldersFor(entry.path));
    if (symlinkat(entry.link.c_str(), root_, entry.path.c_str()) == 0) return absl::OkStatus();
    return UserPlaceFailed("make the link", entry.path);
  }

  absl::Status PlaceFile(const upload::TreeEntry& entry) {
    const absl::Time now = absl::Now();
    ACCEL_ASSIGN_OR_RETURN(const CachedBlob blob, cache_.OpenBlob(entry.sha256, now));
    const absl::Status placed = PlaceCopy(blob, entry);
    // Called without the user's rights, because the user cannot change the cache.
    if (absl::IsDataLoss(placed)) cache_.NoteHash(entry.sha256, blob, /*is_right=*/false, now);
    if (placed.ok() && !blob.is_verified) {
      cache_.NoteHash(entry.sha256, blob, /*is_right=*/true, now);
    }
    return placed;
  }

  absl::Status PlaceCopy(const CachedBlob& blob, const upload::TreeEntry& entry) {
    const process::UserRights rights(owner_);
    ACCEL_RETURN_IF_ERROR(MakeFoldersFor(entry.path));
    const common::UniqueFd file(openat(root_, entry.path.c_str(),
                                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.valid()) return UserPlaceFailed("make", entry.path);
    ACCEL_RETURN_IF_ERROR(Copy(blob, file.get(), entry));
    if (fchmod(file.get(), entry.executable ? 0755 : 0644) == 0) return absl::OkStatus();
    return UserPlaceFailed("set the mode of", entry.path);
  }

  // Shares the blocks if the file system can, and copies them otherwise. A hard link is not made,
  // because it would let the user change the cache. Unless the blob is verified, its bytes are read
  // in both cases, to compute their hash (docs/decisions/0083). DATA_LOSS: the bytes have another
  // size or hash.
  absl::Status Copy(const CachedBlob& blob, int to, const upload::TreeEntry& entry) {
    shares_ = shares_ && ioctl(to, FICLONE, blob.file.get()) == 0;
    if (shares_ && blob.is_verified) return absl::OkStatus();
    security::Sha256Stream hash;
    int64_t size = 0;
    while (true) {
      if (!may_go_on_()) return absl::CancelledError("the job no longer needs it");
      const ssize_t got = read(blob.file.get(), buffer_.get(), upload::kMaxChunkBytes);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return PlaceFailed("read the copy of", entry.path);
      if (got == 0) break;
      size += got;
      absl::string_view bytes(buffer_.get(), static_cast<size_t>(got));
      if (!blob.is_verified) hash.Add(bytes);
      while (!shares_ && !bytes.empty()) {
        const ssize_t put = write(to, bytes.data(), bytes.size());
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return UserPlaceFailed("write", entry.path);
        bytes.remove_prefix(static_cast<size_t>(put));
      }
    }
    if (size == entry.size && (blob.is_verified || hash.HexDigest() == entry.sha256)) {
      return absl::OkStatus();
    }
    return absl::DataLossError(
        absl::StrCat("this node's copy of ", entry.path, " was damaged; it is fetched again"));
  }

  const process::Account& owner_;
  const int root_;
  BlobCache& cache_;
  const std::function<bool()>& may_go_on_;
  std::string last_folder_;
  bool shares_ = true;  // False once the file system has refused to share blocks.
  const std::unique_ptr<char[]> buffer_ =
      std::make_unique_for_overwrite<char[]>(upload::kMaxChunkBytes);
};

// Returns the number of threads to use: at most half of the processors, because running workers
// need the others.
size_t ThreadsFor(const upload::Tree& tree) {
  const unsigned count = std::clamp(std::thread::hardware_concurrency() / 2, 1u, kMaxThreads);
  return std::min<size_t>(count, 1 + tree.size() / kFilesPerThread);
}

}  // namespace

absl::Status CopyCode(const process::Account& owner, int root, const upload::Tree& tree,
                      BlobCache* cache, const std::function<bool()>& may_go_on) {
  std::atomic<size_t> next{0};
  absl::Mutex mutex;
  absl::Status first;
  const auto work = [&] {
    Copier copier(owner, root, cache, may_go_on);
    for (size_t i = next++; i < tree.size(); i = next++) {
      const absl::Status placed = copier.Place(tree[i]);
      if (placed.ok()) continue;
      next = tree.size();  // The other threads stop too.
      absl::MutexLock lock(&mutex);
      first.Update(placed);
      return;
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < ThreadsFor(tree); ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return first;
}

}  // namespace accel::agent
