#include "coordinator/blobs/blob_store.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "security/sha256.h"

namespace accel::coordinator {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMinFreeBytes = int64_t{1} << 30;
constexpr int64_t kMinFreeShare = 20;  // 1/20 of the disk remains free.
constexpr absl::string_view kTidies = "uploads that no job names are removed after a week";

std::string HexSha256(absl::string_view bytes) {
  return absl::BytesToHexString(security::Sha256(bytes));
}

// Parses a manifest. DATA_LOSS: it is not the manifest of the tree with this name.
absl::StatusOr<upload::Tree> TreeOf(const std::string& name, const std::string& manifest) {
  if (HexSha256(manifest) == name) {
    absl::StatusOr<upload::Tree> tree = upload::ParseManifest(manifest);
    if (tree.ok()) return tree;
  }
  return absl::DataLossError("the list of an upload's files is damaged at the coordinator");
}

// Returns the folder name of a user. It is always the same for a user, and valid for any name.
std::string KeyOf(const std::string& user) { return HexSha256(user).substr(0, 32); }

absl::Status MakeFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot make the folder ", path));
}

absl::StatusOr<std::string> ReadAll(int file) {
  struct stat info = {};
  if (fstat(file, &info) != 0) {
    return absl::ErrnoToStatus(errno, "cannot read the list of an upload's files");
  }
  if (info.st_size > static_cast<off_t>(upload::kMaxManifestBytes)) {
    return absl::DataLossError("the list of an upload's files is damaged at the coordinator");
  }
  std::string text(static_cast<size_t>(info.st_size), '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = read(file, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::ErrnoToStatus(errno, "cannot read the list of an upload's files");
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  text.resize(size);
  return text;
}

}  // namespace

absl::StatusOr<DiskSpace> SpaceOf(const std::string& folder) {
  struct statvfs info = {};
  if (statvfs(folder.c_str(), &info) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot read the free space of ", folder));
  }
  const auto block = static_cast<int64_t>(info.f_frsize);
  return DiskSpace{.free = static_cast<int64_t>(info.f_bavail) * block,
                   .total = static_cast<int64_t>(info.f_blocks) * block};
}

absl::StatusOr<std::unique_ptr<BlobStore>> BlobStore::Open(Options options) {
  std::unique_ptr<BlobStore> store(new BlobStore(std::move(options)));
  ACCEL_RETURN_IF_ERROR(MakeFolder(store->options_.path));
  std::error_code error;
  for (fs::directory_iterator entry(store->options_.path, error), end; !error && entry != end;
       entry.increment(error)) {
    absl::MutexLock lock(&store->mutex_);
    ACCEL_RETURN_IF_ERROR(store->OpenUser(entry->path().filename().string()).status());
  }
  return store;
}

absl::StatusOr<BlobStore::User*> BlobStore::OpenUser(const std::string& key) {
  const std::string path = absl::StrCat(options_.path, "/", key);
  ACCEL_RETURN_IF_ERROR(MakeFolder(path));
  ACCEL_ASSIGN_OR_RETURN(upload::BlobFolder files, upload::BlobFolder::Open(path + "/files"));
  ACCEL_ASSIGN_OR_RETURN(upload::BlobFolder trees, upload::BlobFolder::Open(path + "/trees"));
  std::unique_ptr<User> user(
      new User{.key = key, .files = std::move(files), .trees = std::move(trees)});
  {
    absl::MutexLock lock(&user->mutex);
    for (const upload::BlobFolder* const folder : {&user->files, &user->trees}) {
      for (const upload::BlobFile& blob : folder->List()) {
        user->bytes += blob.size;
        ++user->blobs;
      }
    }
  }
  return (users_[key] = std::move(user)).get();
}

absl::StatusOr<BlobStore::User*> BlobStore::UserOf(const std::string& user) {
  const std::string key = KeyOf(user);
  absl::MutexLock lock(&mutex_);
  const auto found = users_.find(key);
  return found != users_.end() ? found->second.get() : OpenUser(key);
}

absl::Status BlobStore::CheckRoom(const User& user, int64_t bytes, int64_t blobs) const {
  if (user.bytes + bytes > options_.max_user_bytes ||
      user.blobs + blobs > options_.max_user_blobs) {
    return absl::ResourceExhaustedError(
        absl::StrCat("your uploads have ", user.bytes >> 20, " MiB in ", user.blobs,
                     " files, and this one adds ", bytes >> 20, " MiB in ", blobs, "; at most ",
                     options_.max_user_bytes >> 20, " MiB in ", options_.max_user_blobs,
                     " are kept for a user; ", kTidies));
  }
  ACCEL_ASSIGN_OR_RETURN(const DiskSpace disk, options_.space(options_.path));
  const int64_t floor = std::max(kMinFreeBytes, disk.total / kMinFreeShare);
  if (disk.free - bytes >= floor) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("the coordinator's disk has ", disk.free >> 20,
                                                   " MiB left, and uploads leave ", floor >> 20,
                                                   " MiB free; ", kTidies));
}

absl::StatusOr<std::vector<std::string>> BlobStore::Missing(const std::string& user,
                                                            const std::string& manifest,
                                                            absl::Time now) {
  ACCEL_ASSIGN_OR_RETURN(const upload::Tree tree, upload::ParseManifest(manifest));
  ACCEL_ASSIGN_OR_RETURN(User* const of, UserOf(user));
  absl::MutexLock lock(&of->mutex);
  absl::flat_hash_set<absl::string_view> seen;
  std::vector<std::string> missing;
  int64_t bytes = 0;
  for (const upload::TreeEntry& entry : tree) {
    if (entry.is_link() || !seen.insert(entry.sha256).second) continue;
    if (of->files.Has(entry.sha256, entry.size)) {
      of->files.Touch(entry.sha256, now);
    } else {
      missing.push_back(entry.sha256);
      bytes += entry.size;
    }
  }
  if (!missing.empty()) {
    ACCEL_RETURN_IF_ERROR(CheckRoom(*of, bytes, static_cast<int64_t>(missing.size())));
    return missing;
  }
  ACCEL_RETURN_IF_ERROR(KeepTree(of, manifest, now));
  return missing;
}

absl::Status BlobStore::KeepTree(User* user, const std::string& manifest, absl::Time now) const {
  const std::string name = HexSha256(manifest);
  const auto size = static_cast<int64_t>(manifest.size());
  if (!user->trees.Has(name, size)) {
    ACCEL_RETURN_IF_ERROR(CheckRoom(*user, size, 1));
    std::vector<std::unique_ptr<upload::BlobWriter>> written;
    ACCEL_ASSIGN_OR_RETURN(written.emplace_back(), user->trees.Begin(name, size));
    ACCEL_RETURN_IF_ERROR(written[0]->Append(manifest));
    ACCEL_RETURN_IF_ERROR(user->trees.Keep(written, upload::Durability::kNames));
    user->bytes += size;
    ++user->blobs;
  }
  user->trees.Touch(name, now);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<BlobUpload>> BlobStore::BeginUpload(const std::string& user) {
  ACCEL_ASSIGN_OR_RETURN(User* const of, UserOf(user));
  absl::MutexLock lock(&of->mutex);
  if (of->uploads >= options_.max_user_uploads) {
    return absl::UnavailableError(
        absl::StrCat(options_.max_user_uploads,
                     " of your uploads are in progress; try again when one has ended"));
  }
  ++of->uploads;
  return std::make_unique<BlobUpload>(*this, of);
}

bool BlobStore::HasTree(const std::string& user, const std::string& tree) {
  const absl::StatusOr<User*> of = UserOf(user);
  return of.ok() && upload::IsSha256(tree) && (*of)->trees.OpenBlob(tree).ok();
}

absl::StatusOr<std::string> BlobStore::ReadTree(const User& user, const std::string& tree) {
  ACCEL_ASSIGN_OR_RETURN(const common::UniqueFd file, user.trees.OpenBlob(tree));
  return ReadAll(file.get());
}

absl::StatusOr<upload::Tree> BlobStore::ReadEntries(const User& user, const std::string& tree) {
  ACCEL_ASSIGN_OR_RETURN(const std::string manifest, ReadTree(user, tree));
  return TreeOf(tree, manifest);
}

absl::StatusOr<std::string> BlobStore::ReadManifest(const std::string& user,
                                                    const std::string& tree) {
  ACCEL_ASSIGN_OR_RETURN(User* const of, UserOf(user));
  return ReadTree(*of, tree);
}

absl::StatusOr<common::UniqueFd> BlobStore::OpenBlob(const std::string& user,
                                                     const std::string& sha256) {
  ACCEL_ASSIGN_OR_RETURN(User* const of, UserOf(user));
  return of->files.OpenBlob(sha256);
}

void BlobStore::Tidy(const std::set<std::pair<std::string, std::string>>& needed, absl::Time now) {
  std::map<std::string, std::set<std::string>> by_key;
  for (const auto& [user, tree] : needed) by_key[KeyOf(user)].insert(tree);
  std::vector<User*> users;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [key, user] : users_) users.push_back(user.get());
  }
  for (User* const user : users) Tidy(user, by_key[user->key], now);
}

void BlobStore::Tidy(User* user, const std::set<std::string>& needed, absl::Time now) {
  absl::MutexLock lock(&user->mutex);
  const absl::Time oldest = now - options_.lifetime;
  absl::flat_hash_set<std::string> kept;
  bool all_are_known = true;
  for (const upload::BlobFile& tree : user->trees.List()) {
    const bool is_needed = needed.contains(tree.sha256);
    if (is_needed) user->trees.Touch(tree.sha256, now);
    const absl::StatusOr<upload::Tree> entries = ReadEntries(*user, tree.sha256);
    // A tree that cannot be read now may be readable later, so it is not removed as damaged. A tree
    // that a job names is never removed.
    const bool is_damaged = absl::IsDataLoss(entries.status());
    if (!is_needed && (is_damaged || tree.used < oldest)) {
      user->trees.Remove(tree.sha256);
      user->bytes -= tree.size;
      --user->blobs;
      continue;
    }
    if (!entries.ok()) {
      all_are_known = all_are_known && is_damaged;
      continue;
    }
    for (const upload::TreeEntry& entry : *entries) {
      kept.insert(entry.sha256);
      if (is_needed && !entry.is_link()) user->files.Touch(entry.sha256, now);
    }
  }
  // The blobs of an unreadable tree are not known, so any blob may belong to it.
  if (!all_are_known) return;
  for (const upload::BlobFile& blob : user->files.List()) {
    if (blob.used >= oldest || kept.contains(blob.sha256)) continue;
    user->files.Remove(blob.sha256);
    user->bytes -= blob.size;
    --user->blobs;
  }
}

}  // namespace accel::coordinator
