#include "tests/simulation/torn_commit.h"

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "common/status_macros.h"
#include "coordinator/store/sqlite_file.h"

namespace accel::simulation {
namespace {

namespace fs = std::filesystem;
using coordinator::SqliteFile;

// A folder that is removed with this object. It is in memory if possible, because nothing here is
// to survive.
class Folder {
 public:
  Folder() {
    std::error_code error;
    const bool in_memory = access("/dev/shm", W_OK) == 0;
    path_ = (in_memory ? fs::path("/dev/shm") : fs::temp_directory_path(error)) / "torn-XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;

  const std::string& path() const { return path_; }  // Empty if it could not be made.

 private:
  std::string path_;
};

// Writes the commit to `path`. Copies the file and its log to `torn` as a crash leaves them.
absl::Status WriteTorn(const std::vector<coordinator::Row>& before,
                       const coordinator::RowBatch& batch, double part, const std::string& path,
                       const std::string& torn) {
  ACCEL_ASSIGN_OR_RETURN(const std::unique_ptr<SqliteFile> file,
                         SqliteFile::Open(path, SqliteFile::Missing::kCreate));
  ACCEL_RETURN_IF_ERROR(file->Write({.put = before, .erase = {}}));
  std::error_code error;
  const uintmax_t begin = fs::file_size(path + "-wal", error);
  ACCEL_RETURN_IF_ERROR(file->Write(batch));
  // The file is copied while it is open, because its log is removed when it is closed.
  for (const char* end : {"", "-wal"}) {
    if (!error) fs::copy_file(path + end, torn + end, error);
  }
  const uintmax_t bytes = error ? 0 : fs::file_size(torn + "-wal", error) - begin;
  const auto kept = static_cast<uintmax_t>(static_cast<double>(bytes) * part);
  if (!error) fs::resize_file(torn + "-wal", begin + kept, error);
  return error ? absl::UnavailableError(error.message()) : absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<coordinator::Row>> RowsAfterTornCommit(
    const std::vector<coordinator::Row>& before, const coordinator::RowBatch& batch, double part) {
  const Folder folder;
  if (folder.path().empty()) return absl::UnavailableError("cannot make a folder for a database");
  const std::string torn = folder.path() + "/torn";
  ACCEL_RETURN_IF_ERROR(WriteTorn(before, batch, part, folder.path() + "/whole", torn));
  ACCEL_ASSIGN_OR_RETURN(const std::unique_ptr<SqliteFile> file,
                         SqliteFile::Open(torn, SqliteFile::Missing::kIsAnError));
  return file->Read();
}

}  // namespace accel::simulation
