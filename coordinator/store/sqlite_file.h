// One SQLite database file with rows: opening, checking, reading, writing. coordinator/store/
// sqlite_store.h writes to it from a thread of its own.
//
// The file is in WAL mode with full synchronisation: a commit returns once fsync has. A process
// that is killed, or a host that loses power, at any instant leaves a file that holds every batch
// whose commit returned, and each other batch completely or not at all.
//
// SQLite finds damage to the structure of a file, but not to the bytes of a value. Therefore each
// row has a checksum of its key and value, which every read verifies. Damage to the log is found by
// coordinator/store/write_ahead_log.h.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/core/rows.h"

struct sqlite3;
struct sqlite3_stmt;

namespace accel::coordinator {

// Not thread-safe. Errors of all functions: RESOURCE_EXHAUSTED: the disk is full. DATA_LOSS: the
// file is damaged. PERMISSION_DENIED: the file may not be opened or written. UNAVAILABLE: reading
// or writing failed. Each message names the file.
class SqliteFile {
 public:
  enum class Missing { kCreate, kIsAnError };

  // Opens the file, and looks for damage to its structure. FAILED_PRECONDITION: the file is not
  // from accel, or from a later version. NOT_FOUND: there is no file, and `missing` is kIsAnError.
  static absl::StatusOr<std::unique_ptr<SqliteFile>> Open(const std::string& path, Missing missing);
  ~SqliteFile();
  SqliteFile(const SqliteFile&) = delete;

  // Returns all rows, sorted by key.
  absl::StatusOr<std::vector<Row>> Read();

  // Writes a batch as one transaction. After an error the file holds the batch completely or not at
  // all, and must be opened again before the next write, unless the disk was full.
  absl::Status Write(const RowBatch& batch);

  // Checks every page and index. It reads the whole file. Read() checks the rows.
  absl::Status Check();

  // Copies the rows to another file, which replaces an existing one. This file may be in use by
  // another process meanwhile; the copy has the rows of one moment.
  absl::Status CopyTo(const std::string& path);

 private:
  using Query = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;

  explicit SqliteFile(std::string path) : path_(std::move(path)) {}

  absl::Status Connect(Missing missing);
  absl::Status Prepare();
  // Refuses a log from which SQLite would silently drop commits.
  absl::Status CheckLog() const;
  absl::Status CheckOrigin();
  absl::Status CheckPages(const char* pragma);
  absl::Status WriteRows(const RowBatch& batch);
  absl::Status Erase(const std::string& key);
  absl::Status Put(const Row& row);
  absl::Status Run(const char* sql);
  absl::StatusOr<Query> MakeQuery(const char* sql);
  absl::StatusOr<int64_t> Number(const char* sql);
  // Runs a prepared statement that returns no row, and resets it.
  absl::Status Finish(sqlite3_stmt* statement);
  absl::Status Error(int code) const;

  const std::string path_;
  sqlite3* db_ = nullptr;
  sqlite3_stmt* put_ = nullptr;
  sqlite3_stmt* erase_ = nullptr;
  sqlite3_stmt* erase_prefix_ = nullptr;
};

}  // namespace accel::coordinator
