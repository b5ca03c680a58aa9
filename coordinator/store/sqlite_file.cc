#include "coordinator/store/sqlite_file.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "coordinator/store/write_ahead_log.h"

namespace accel::coordinator {
namespace {

// Values in the file's header that identify it as accel's, for `file` and other programs, and the
// version of the table.
constexpr int64_t kApplicationId = 0x6163636c;  // "accl"
constexpr int64_t kTableVersion = 1;

// Maximum time to wait for another process that has locked the file, for example to copy it.
constexpr int kBusyMillis = 5'000;

constexpr char kSettings[] =
    "PRAGMA journal_mode = WAL;"
    "PRAGMA synchronous = FULL;"
    "PRAGMA journal_size_limit = 16777216;"
    "PRAGMA cell_size_check = ON;";

constexpr char kMakeTable[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE rows (key TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL, crc INTEGER NOT NULL);"
    "PRAGMA application_id = 1633903468;"
    "PRAGMA user_version = 1;"
    "COMMIT;";

constexpr char kWayOut[] =
    "; restore a copy that `accel-coordinator --backup` made, or move the file and its -wal file "
    "away to begin with an empty cluster, which knows none of the present jobs";

uint32_t Checksum(absl::string_view key, absl::string_view value) {
  uLong crc = 0;
  for (const absl::string_view bytes : {key, value}) {
    // crc32() returns the initial value if its pointer is null, which that of an empty
    // value may be.
    if (bytes.empty()) continue;
    crc = crc32(crc, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size()));
  }
  return static_cast<uint32_t>(crc);
}

// Returns the bytes of a file, or nothing if there is none.
std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

absl::string_view Bytes(sqlite3_stmt* row, int column) {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(row, column));
  return {bytes, static_cast<size_t>(sqlite3_column_bytes(row, column))};
}

// Returns the first key after all keys that start with `prefix`, which ends with "/".
std::string EndOfPrefix(const std::string& prefix) {
  return absl::StrCat(prefix.substr(0, prefix.size() - 1), "0");
}
static_assert('0' == '/' + 1);

absl::Status CopyError(int code, const std::string& path, absl::string_view why) {
  if ((code & 0xff) == SQLITE_FULL) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the disk is full, so ", path,
                     " cannot be written; make room, or copy to another disk with --backup"));
  }
  return absl::UnavailableError(absl::StrCat("cannot write ", path, ": ", why));
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteFile>> SqliteFile::Open(const std::string& path,
                                                             Missing missing) {
  std::unique_ptr<SqliteFile> file(new SqliteFile(path));
  ACCEL_RETURN_IF_ERROR(file->Connect(missing));
  ACCEL_RETURN_IF_ERROR(file->Prepare());
  return file;
}

SqliteFile::~SqliteFile() {
  for (sqlite3_stmt* statement : {put_, erase_, erase_prefix_}) sqlite3_finalize(statement);
  sqlite3_close(db_);
}

absl::Status SqliteFile::Connect(Missing missing) {
  if (missing == Missing::kIsAnError && access(path_.c_str(), F_OK) != 0) {
    return absl::NotFoundError(absl::StrCat("there is no file ", path_));
  }
  ACCEL_RETURN_IF_ERROR(CheckLog());
  const int create = missing == Missing::kCreate ? SQLITE_OPEN_CREATE : 0;
  const int code = sqlite3_open_v2(path_.c_str(), &db_,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | create, nullptr);
  if (code != SQLITE_OK) return Error(code);
  sqlite3_extended_result_codes(db_, 1);
  sqlite3_busy_timeout(db_, kBusyMillis);
  ACCEL_RETURN_IF_ERROR(CheckOrigin());
  ACCEL_RETURN_IF_ERROR(Run(kSettings));
  ACCEL_ASSIGN_OR_RETURN(const int64_t version, Number("PRAGMA user_version"));
  return version == 0 ? Run(kMakeTable) : CheckPages("PRAGMA quick_check(1)");
}

absl::Status SqliteFile::CheckLog() const {
  std::string log = ReadBytes(path_ + "-wal");
  absl::Status checked = CheckWriteAheadLog(log);
  // Another process may have written during the read, so only bytes that are read twice count.
  for (std::string again; !checked.ok() && (again = ReadBytes(path_ + "-wal")) != log;
       log = again) {
    checked = CheckWriteAheadLog(again);
  }
  if (checked.ok()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path_, " is damaged: ", checked.message(), kWayOut));
}

absl::Status SqliteFile::CheckOrigin() {
  ACCEL_ASSIGN_OR_RETURN(const int64_t tables, Number("SELECT count(*) FROM sqlite_schema"));
  ACCEL_ASSIGN_OR_RETURN(const int64_t application, Number("PRAGMA application_id"));
  ACCEL_ASSIGN_OR_RETURN(const int64_t version, Number("PRAGMA user_version"));
  if (tables == 0 && application == 0 && version == 0) return absl::OkStatus();  // A new file.
  if (application != kApplicationId) {
    return absl::FailedPreconditionError(
        absl::StrCat(path_, " is a database of another program, not of accel-coordinator"));
  }
  if (version <= kTableVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(path_, " has version ", version, " of the table, and this accel-coordinator ",
                   "knows versions up to ", kTableVersion, "; start a later one"));
}

absl::Status SqliteFile::Prepare() {
  const std::pair<const char*, sqlite3_stmt**> statements[] = {
      {"INSERT OR REPLACE INTO rows VALUES (?1, ?2, ?3)", &put_},
      {"DELETE FROM rows WHERE key = ?1", &erase_},
      {"DELETE FROM rows WHERE key >= ?1 AND key < ?2", &erase_prefix_}};
  for (const auto& [sql, statement] : statements) {
    const int code =
        sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, nullptr);
    if (code != SQLITE_OK) return Error(code);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Row>> SqliteFile::Read() {
  ACCEL_ASSIGN_OR_RETURN(const Query query,
                         MakeQuery("SELECT key, value, crc FROM rows ORDER BY key"));
  std::vector<Row> rows;
  int code;
  while ((code = sqlite3_step(query.get())) == SQLITE_ROW) {
    const absl::string_view key = Bytes(query.get(), 0);
    const absl::string_view value = Bytes(query.get(), 1);
    if (sqlite3_column_int64(query.get(), 2) != Checksum(key, value)) {
      return absl::DataLossError(absl::StrCat(path_, " is damaged: the checksum of row ", key,
                                              " does not match", kWayOut));
    }
    rows.push_back({std::string(key), std::string(value)});
  }
  if (code != SQLITE_DONE) return Error(code);
  return rows;
}

absl::Status SqliteFile::Write(const RowBatch& batch) {
  absl::Status status = Run("BEGIN IMMEDIATE");
  if (status.ok()) status = WriteRows(batch);
  if (status.ok()) status = Run("COMMIT");
  // After some errors, SQLite has already ended the transaction.
  if (!status.ok() && sqlite3_get_autocommit(db_) == 0) Run("ROLLBACK").IgnoreError();
  return status;
}

absl::Status SqliteFile::WriteRows(const RowBatch& batch) {
  for (const std::string& key : batch.erase) ACCEL_RETURN_IF_ERROR(Erase(key));
  for (const Row& row : batch.put) ACCEL_RETURN_IF_ERROR(Put(row));
  return absl::OkStatus();
}

absl::Status SqliteFile::Erase(const std::string& key) {
  const bool prefix = absl::EndsWith(key, "/");
  sqlite3_stmt* statement = prefix ? erase_prefix_ : erase_;
  sqlite3_bind_text(statement, 1, key.data(), static_cast<int>(key.size()), SQLITE_TRANSIENT);
  if (!prefix) return Finish(statement);
  const std::string end = EndOfPrefix(key);
  sqlite3_bind_text(statement, 2, end.data(), static_cast<int>(end.size()), SQLITE_TRANSIENT);
  return Finish(statement);
}

absl::Status SqliteFile::Put(const Row& row) {
  sqlite3_bind_text(put_, 1, row.key.data(), static_cast<int>(row.key.size()), SQLITE_STATIC);
  sqlite3_bind_blob(put_, 2, row.value.data(), static_cast<int>(row.value.size()), SQLITE_STATIC);
  sqlite3_bind_int64(put_, 3, Checksum(row.key, row.value));
  return Finish(put_);
}

absl::Status SqliteFile::Finish(sqlite3_stmt* statement) {
  const int code = sqlite3_step(statement);
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  return code == SQLITE_DONE ? absl::OkStatus() : Error(code);
}

absl::Status SqliteFile::Check() { return CheckPages("PRAGMA integrity_check(10)"); }

absl::Status SqliteFile::CheckPages(const char* pragma) {
  ACCEL_ASSIGN_OR_RETURN(const Query query, MakeQuery(pragma));
  std::string found;
  int code;
  while ((code = sqlite3_step(query.get())) == SQLITE_ROW) {
    absl::StrAppend(&found, found.empty() ? "" : "; ", Bytes(query.get(), 0));
  }
  if (code != SQLITE_DONE) return Error(code);
  if (found == "ok") return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path_, " is damaged: ", found, kWayOut));
}

absl::Status SqliteFile::CopyTo(const std::string& path) {
  const std::string unfinished = path + ".unfinished";
  std::error_code ignored;
  std::filesystem::remove(unfinished, ignored);
  sqlite3* copy = nullptr;
  int code = sqlite3_open(unfinished.c_str(), &copy);
  const std::unique_ptr<sqlite3, int (*)(sqlite3*)> owned(copy, sqlite3_close);
  sqlite3_backup* backup =
      code == SQLITE_OK ? sqlite3_backup_init(copy, "main", db_, "main") : nullptr;
  if (backup != nullptr) {
    // One step for all pages, because each commit of another process between two steps would begin
    // the copy again. A reader of a file in WAL mode does not keep others from writing.
    const int copied = sqlite3_backup_step(backup, /*nPage=*/-1);
    const int finished = sqlite3_backup_finish(backup);
    code = copied == SQLITE_DONE ? finished : copied;
  }
  if (backup == nullptr || code != SQLITE_OK) {
    std::filesystem::remove(unfinished, ignored);
    return CopyError(code, unfinished, sqlite3_errmsg(copy));
  }
  const common::UniqueFd file(open(unfinished.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid() || fsync(file.get()) != 0 || rename(unfinished.c_str(), path.c_str()) != 0) {
    // A disk may say only now that it is full.
    const int error = errno;
    std::filesystem::remove(unfinished, ignored);
    if (error == ENOSPC) return CopyError(SQLITE_FULL, unfinished, "");
    return absl::ErrnoToStatus(error, absl::StrCat("cannot write ", path));
  }
  return absl::OkStatus();
}

absl::Status SqliteFile::Run(const char* sql) {
  const int code = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : Error(code);
}

absl::StatusOr<SqliteFile::Query> SqliteFile::MakeQuery(const char* sql) {
  sqlite3_stmt* query = nullptr;
  const int code = sqlite3_prepare_v2(db_, sql, -1, &query, nullptr);
  if (code != SQLITE_OK) return Error(code);
  return Query(query, sqlite3_finalize);
}

absl::StatusOr<int64_t> SqliteFile::Number(const char* sql) {
  ACCEL_ASSIGN_OR_RETURN(const Query query, MakeQuery(sql));
  const int code = sqlite3_step(query.get());
  if (code != SQLITE_ROW) return Error(code);
  return sqlite3_column_int64(query.get(), 0);
}

absl::Status SqliteFile::Error(int code) const {
  const char* text = db_ == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(db_);
  const int system = db_ == nullptr ? 0 : sqlite3_system_errno(db_);
  const std::string why =
      absl::StrCat(text, system == 0 ? "" : absl::StrCat(" (", strerror(system), ")"));
  switch (code & 0xff) {
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(
          absl::StrCat("the disk is full, so ", path_, " cannot be written"));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::DataLossError(absl::StrCat(path_, " is damaged: ", why, kWayOut));
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
      return absl::PermissionDeniedError(
          absl::StrCat(path_, " cannot be opened for writing: ", why));
    default:
      return absl::UnavailableError(absl::StrCat(path_, " cannot be read or written: ", why));
  }
}

}  // namespace accel::coordinator
