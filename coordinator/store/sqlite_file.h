// One SQLite database file with rows: opens, checks, reads and writes it. sqlite_store.h writes to
// the file from a separate thread.
//
// The file is in WAL mode with full synchronisation: a commit returns only after fsync has
// returned. The process may be killed and the host may lose power at any time. The file then still
// has every batch whose commit returned, and each other batch completely or not at all.
//
// SQLite detects damage to the structure of a file, but not to the bytes of a value. Each row
// therefore has a checksum of its key and value, which Read() verifies. Commits are first written
// to the write-ahead log, a separate file. write_ahead_log.h detects damage to it.
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

// Not thread-safe. Errors of all functions except CopyTo(). Each message names the file.
//
// * RESOURCE_EXHAUSTED: the disk is full.
// * DATA_LOSS: the file or its write-ahead log is damaged.
// * PERMISSION_DENIED: the file may not be opened or written.
// * UNAVAILABLE: reading or writing failed.
class SqliteFile {
 public:
  enum class Missing { kCreate, kIsAnError };

  // Opens the file, and looks for damage to its structure. FAILED_PRECONDITION: another program or
  // a later version of accel has written the file. NOT_FOUND: there is no file, and
  // `missing` is kIsAnError.
  static absl::StatusOr<std::unique_ptr<SqliteFile>> Open(const std::string& path, Missing missing);
  ~SqliteFile();
  SqliteFile(const SqliteFile&) = delete;

  // Returns all rows, sorted by key.
  absl::StatusOr<std::vector<Row>> Read();

  // Writes a batch as one transaction. After an error, the file has the batch completely or not at
  // all. Unless the disk was full, it must be opened again before the next write.
  absl::Status Write(const RowBatch& batch);

  // Checks every page and index, and reads the whole file for this. Read() checks the values
  // of the rows.
  absl::Status Check();

  // Copies the rows to another file, which replaces an existing file. Another process may write to
  // this file meanwhile, and the copy then has the rows of one moment. RESOURCE_EXHAUSTED: the disk
  // of the copy is full. UNAVAILABLE: the copy cannot be written, or another process has locked it
  // or this file. Other errors have the code of the errno of open(), fsync() or rename().
  absl::Status CopyTo(const std::string& path);

 private:
  using Query = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;

  explicit SqliteFile(std::string path) : path_(std::move(path)) {}

  absl::Status Connect(Missing missing);
  absl::Status Prepare();
  // Refuses a write-ahead log from which SQLite would silently drop commits.
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
