// A folder of blobs, which are the contents of uploaded files. A blob's name is its SHA-256. The
// coordinator has such a folder for each user, and each node has one as a cache.
//
//   FOLDER/tmp/               blobs that are being written; emptied by Open()
//   FOLDER/aa/aaf4c61d…       blobs
//
// A blob with its final name is whole, unless the machine lost power or its disk is damaged.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/unique_fd.h"
#include "security/sha256.h"

namespace accel::upload {

// Size in bytes of the pieces in which blobs are read and sent. Larger pieces are rejected.
inline constexpr size_t kMaxChunkBytes = 256 << 10;

// A blob that is being written under a temporary name. The destructor removes the file, unless
// BlobFolder::Keep() has given it its final name. Not thread-safe.
class BlobWriter {
 public:
  BlobWriter(common::UniqueFd file, std::string path, std::string sha256, int64_t size)
      : file_(std::move(file)), path_(std::move(path)), sha256_(std::move(sha256)), size_(size) {}
  ~BlobWriter();
  BlobWriter(const BlobWriter&) = delete;
  BlobWriter& operator=(const BlobWriter&) = delete;

  // Writes further bytes. INVALID_ARGUMENT: the blob would exceed its size, or is complete and has
  // another hash. Other errors are those of the file system.
  absl::Status Append(absl::string_view bytes);
  // Returns true once all bytes are written and have the right hash.
  bool is_whole() const { return is_whole_; }

  const std::string& sha256() const { return sha256_; }
  int64_t size() const { return size_; }

 private:
  friend class BlobFolder;

  common::UniqueFd file_;
  std::string path_;  // Empty once the file has its final name.
  const std::string sha256_;
  const int64_t size_;
  int64_t written_ = 0;
  bool is_whole_ = false;
  security::Sha256Stream hash_;
};

// Facts about a file that change whenever its bytes change. They also change with its times.
struct BlobStamp {
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t size = 0;
  int64_t modified_ns = 0;  // Since 1970.
  int64_t changed_ns = 0;

  friend bool operator==(const BlobStamp&, const BlobStamp&) = default;
};

// The parts of a blob that survive a loss of power.
enum class Durability {
  kNone,   // Any part of its bytes may be lost.
  kBytes,  // If its name survives, so do all its bytes.
  kNames,  // The blob survives, and all blobs that Keep() has named before.
};

struct BlobFile {
  std::string sha256;
  int64_t size = 0;
  absl::Time used;  // See BlobFolder::Touch().
};

// Thread-safe, except that only one thread at a time may remove or touch the same blob.
// All calls block.
class BlobFolder {
 public:
  // Makes the folder (0700) if there is none. Errors are those of the file system; the message
  // has the path.
  static absl::StatusOr<BlobFolder> Open(const std::string& path);

  // Returns true if the folder has the blob with this size.
  bool Has(const std::string& sha256, int64_t size) const;
  // Returns the stamp of a blob, or nullopt if the folder does not have it.
  std::optional<BlobStamp> StampOf(const std::string& sha256) const;
  // Returns the stamp of an open blob, or nullopt if it cannot be read.
  static std::optional<BlobStamp> StampOf(const common::UniqueFd& file);
  // Opens a blob for reading. NOT_FOUND: the folder does not have it.
  absl::StatusOr<common::UniqueFd> OpenBlob(const std::string& sha256) const;

  // Begins to write a blob. A blob of size 0 also needs one Append(), with no bytes.
  absl::StatusOr<std::unique_ptr<BlobWriter>> Begin(const std::string& sha256, int64_t size) const;
  // Gives whole blobs their final names. `durability` decides what is on the disk
  // when this returns.
  absl::Status Keep(const std::vector<std::unique_ptr<BlobWriter>>& blobs,
                    Durability durability) const;

  // Sets the time at which a blob was last used.
  void Touch(const std::string& sha256, absl::Time now) const;
  // Removes a blob of the folder.
  void Remove(const std::string& sha256) const;
  // Returns all blobs.
  std::vector<BlobFile> List() const;

 private:
  explicit BlobFolder(std::string path) : path_(std::move(path)) {}

  std::string PathOf(const std::string& sha256) const;

  std::string path_;
};

}  // namespace accel::upload
