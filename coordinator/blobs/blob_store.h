// The uploads of all users, on the coordinator's disk.
//
//   STATE_DIR/blobs/USER/files/     the blobs of one user (upload/blob_folder.h)
//   STATE_DIR/blobs/USER/trees/     the manifests of the trees whose blobs have all arrived
//
// USER is a hash of the user's name, because the name may not be valid as a file name. Users share
// no blobs, so no answer shows what others have sent (docs/decisions/0077). After a week without
// use, a tree that no kept job names is removed, and so is a blob of no tree.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "coordinator/blobs/work_queue.h"
#include "upload/blob_folder.h"
#include "upload/core/tree.h"

namespace accel::coordinator {

class BlobUpload;

struct DiskSpace {
  int64_t free = 0;
  int64_t total = 0;
};

// Returns the space on the disk of a folder that this process may use.
absl::StatusOr<DiskSpace> SpaceOf(const std::string& folder);

// Thread-safe. All calls block on the disk. Their argument `user` is the name of the user.
class BlobStore {
 public:
  struct Options {
    std::string path;
    int64_t max_user_bytes = int64_t{20} << 30;
    int64_t max_user_blobs = 200'000;
    int max_user_uploads = 2;  // Number of uploads of one user in progress.
    absl::Duration lifetime = absl::Hours(7 * 24);
    std::function<absl::StatusOr<DiskSpace>(const std::string& folder)> space = SpaceOf;
  };

  // Makes the folder if it does not exist, and adds up the sizes of the files in it. Errors are
  // those of the disk.
  static absl::StatusOr<std::unique_ptr<BlobStore>> Open(Options options);

  // Returns the hashes of the tree's blobs that the user has not sent. If there are none, the tree
  // is complete, and a job may name it. Errors: see Has in proto/blobs.proto.
  absl::StatusOr<std::vector<std::string>> Missing(const std::string& user,
                                                   const std::string& manifest, absl::Time now);
  // Begins an upload of blobs. UNAVAILABLE: max_user_uploads of the user are already in progress.
  // The store must outlive the upload.
  absl::StatusOr<std::unique_ptr<BlobUpload>> BeginUpload(const std::string& user);

  // Returns true if the tree is complete.
  bool HasTree(const std::string& user, const std::string& tree);
  // Returns the manifest of a complete tree. NOT_FOUND: there is no such tree.
  absl::StatusOr<std::string> ReadManifest(const std::string& user, const std::string& tree);
  // Opens a blob for reading. NOT_FOUND: the user has no such blob.
  absl::StatusOr<common::UniqueFd> OpenBlob(const std::string& user, const std::string& sha256);

  // Removes trees and blobs that were not used for the lifetime, and damaged trees. `needed` are
  // the trees that jobs name, each with its user. They count as used now, and are never removed.
  void Tidy(const std::set<std::pair<std::string, std::string>>& needed, absl::Time now);

 private:
  friend class BlobUpload;

  struct User {
    const std::string key;
    const upload::BlobFolder files;
    const upload::BlobFolder trees;
    absl::Mutex mutex;
    // Totals of all files and trees, including those that are arriving.
    int64_t bytes ABSL_GUARDED_BY(mutex) = 0;
    int64_t blobs ABSL_GUARDED_BY(mutex) = 0;
    int uploads ABSL_GUARDED_BY(mutex) = 0;
  };

  explicit BlobStore(Options options) : options_(std::move(options)) {}

  absl::StatusOr<User*> OpenUser(const std::string& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<User*> UserOf(const std::string& user);
  absl::Status CheckRoom(const User& user, int64_t bytes, int64_t blobs) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(user.mutex);
  // Stores the manifest of a tree whose blobs have all arrived.
  absl::Status KeepTree(User* user, const std::string& manifest, absl::Time now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(user->mutex);
  void Tidy(User* user, const std::set<std::string>& needed, absl::Time now);
  static absl::StatusOr<std::string> ReadTree(const User& user, const std::string& tree);
  // Reads and parses the manifest of a tree. DATA_LOSS: it is damaged. Other errors: it
  // cannot be read.
  static absl::StatusOr<upload::Tree> ReadEntries(const User& user, const std::string& tree);

  const Options options_;
  // The thread that stores blobs that have arrived. One for all users, because there is one disk.
  const std::unique_ptr<WorkQueue> disk_ = std::make_unique<WorkQueue>(1);
  absl::Mutex mutex_;
  std::map<std::string, std::unique_ptr<User>> users_ ABSL_GUARDED_BY(mutex_);  // By key.
};

// An upload: blobs that arrive one after another. A blob that has arrived completely is kept, even
// if the object is destroyed before End(). While some blobs are being written to the disk, the next
// ones arrive (docs/decisions/0083). Not thread-safe.
class BlobUpload {
 public:
  BlobUpload(const BlobStore& store, BlobStore::User* user);
  ~BlobUpload();
  BlobUpload(const BlobUpload&) = delete;
  BlobUpload& operator=(const BlobUpload&) = delete;

  // Takes one piece of a blob. The first piece has the blob's `sha256`, which is empty in its other
  // pieces. Errors are those of Put in proto/blobs.proto. An error of the disk may be returned for
  // a later piece. After an error, Take() must not be called again.
  absl::Status Take(const std::string& sha256, int64_t size, absl::string_view data);
  // Notes that there are no more pieces, and blocks until all blobs are on the disk.
  // INVALID_ARGUMENT: the last blob is not complete.
  absl::Status End();

 private:
  struct Keeping;

  absl::Status Begin(const std::string& sha256, int64_t size);
  // Begins to store the complete blobs. Blocks until the batch before is stored, and
  // returns its error.
  absl::Status BeginToKeep(upload::Durability durability);
  absl::Status AwaitKept();
  // Stores all complete blobs, and blocks until they are on the disk.
  absl::Status KeepAll();
  absl::Status Keep(const std::vector<std::unique_ptr<upload::BlobWriter>>& blobs,
                    upload::Durability durability);
  void GiveBack(int64_t bytes, int64_t blobs);

  const BlobStore& store_;
  BlobStore::User& user_;
  std::unique_ptr<upload::BlobWriter> arriving_;
  std::vector<std::unique_ptr<upload::BlobWriter>> whole_;
  int64_t whole_bytes_ = 0;
  std::unique_ptr<Keeping> keeping_;  // The batch that is being stored, or null.
  bool names_are_on_disk_ = true;
};

}  // namespace accel::coordinator
