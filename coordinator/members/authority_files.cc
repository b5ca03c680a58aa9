#include "coordinator/members/authority_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "security/secret_file.h"

namespace accel::coordinator {
namespace {

constexpr char kKeyBegin[] = "-----BEGIN PRIVATE KEY-----";  // As PrivateKey::ToPem() writes it.
constexpr int kReadAttempts = 10;  // Enough, because a step is one rename, and steps are rare.

struct Paths {
  explicit Paths(const std::string& state_dir)
      : certificate(state_dir + "/ca.crt"),
        key(state_dir + "/ca.key"),
        id(state_dir + "/cluster_id"),
        next(state_dir + "/ca.next") {}

  const std::string certificate;
  const std::string key;
  const std::string id;
  const std::string next;
};

absl::Status About(const std::string& path, absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": ", why, "; restore it from a backup of the directory"));
}

// Returns nullopt if there is no such file.
absl::StatusOr<std::optional<std::string>> ReadIfThere(const std::string& path) {
  absl::StatusOr<std::string> content = security::ReadSecretFile(path);
  if (absl::IsNotFound(content.status())) return std::nullopt;
  ACCEL_RETURN_IF_ERROR(content.status());
  return *std::move(content);
}

absl::StatusOr<security::Authority> Parse(const std::string& certificate_path,
                                          const std::string& certificate_pem,
                                          const std::string& key_path, const std::string& key_pem) {
  absl::StatusOr<security::PrivateKey> key = security::PrivateKey::FromPem(key_pem);
  if (!key.ok()) return About(key_path, key.status().message());
  absl::StatusOr<security::Certificate> certificate =
      security::Certificate::FromPem(certificate_pem);
  if (!certificate.ok()) return About(certificate_path, certificate.status().message());
  if (certificate->public_key().ToDer() != key->public_key().ToDer()) {
    return About(certificate_path, "it belongs to another key");
  }
  return security::Authority{*std::move(key), *std::move(certificate)};
}

// Parses a file with a certificate and then its private key.
absl::StatusOr<security::Authority> ParsePair(const std::string& path, const std::string& content) {
  const size_t key = content.find(kKeyBegin);
  if (key == std::string::npos) return About(path, "it has no private key");
  return Parse(path, content.substr(0, key), path, content.substr(key));
}

bool HasKey(const std::string& content) { return content.find(kKeyBegin) != std::string::npos; }

// Reads the authority. ABORTED: the files changed meanwhile.
absl::StatusOr<ClusterAuthority> ReadOnce(const Paths& paths) {
  // ca.next is read before the other files. A rotation that is finished meanwhile then appears as
  // one that is in progress or finished, and never as one that has not begun.
  ACCEL_ASSIGN_OR_RETURN(const auto next_content, ReadIfThere(paths.next));
  ACCEL_ASSIGN_OR_RETURN(const auto content, ReadIfThere(paths.certificate));
  if (!content.has_value()) {
    if (next_content.has_value()) return About(paths.certificate, "it is missing");
    return absl::NotFoundError(
        absl::StrCat("there is no ", paths.certificate, ", so no coordinator has run there"));
  }
  std::optional<std::string> key;
  if (!HasKey(*content)) {
    ACCEL_ASSIGN_OR_RETURN(key, ReadIfThere(paths.key));
    ACCEL_ASSIGN_OR_RETURN(const auto again, ReadIfThere(paths.certificate));
    if (again != content) return absl::AbortedError("the authority's files change all the time");
    if (!key.has_value()) return About(paths.key, "it is missing");
  }
  ACCEL_ASSIGN_OR_RETURN(security::Authority first,
                         key.has_value() ? Parse(paths.certificate, *content, paths.key, *key)
                                         : ParsePair(paths.certificate, *content));
  const absl::StatusOr<std::string> id = security::ReadSecretFile(paths.id);
  if (!id.ok()) return About(paths.id, id.status().message());
  std::string cluster(absl::StripAsciiWhitespace(*id));
  if (!next_content.has_value() || next_content == content) {
    return ClusterAuthority(std::move(cluster), std::move(first));
  }
  ACCEL_ASSIGN_OR_RETURN(security::Authority next, ParsePair(paths.next, *next_content));
  return ClusterAuthority(std::move(cluster), std::move(next), std::move(first));
}

absl::Status SyncFolder(const std::string& folder) {
  const common::UniqueFd names(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (names.valid() && fsync(names.get()) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", folder));
}

// Deletes drafts of ca.next that a killed command has left (security/secret_file.h). The keys in
// them were never used. Best effort.
void DropDrafts(const std::string& state_dir) {
  std::error_code error;
  for (const auto& each : std::filesystem::directory_iterator(state_dir, error)) {
    if (absl::StartsWith(each.path().filename().string(), "ca.next.")) {
      std::filesystem::remove(each.path(), error);
    }
  }
}

// Deletes the key of an authority that was replaced, which an interrupted step leaves.
absl::Status DropFormerKey(const std::string& state_dir) {
  const Paths paths(state_dir);
  ACCEL_ASSIGN_OR_RETURN(const auto content, ReadIfThere(paths.certificate));
  if (!content.has_value() || !HasKey(*content)) return absl::OkStatus();
  if (unlink(paths.key.c_str()) == 0) return SyncFolder(state_dir);
  if (errno == ENOENT) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot delete ", paths.key));
}

std::string StampOf(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return "none";
  return absl::StrCat(info.st_ino, " ", info.st_size, " ",
                      absl::ToUnixNanos(absl::TimeFromTimespec(info.st_mtim)));
}

}  // namespace

absl::StatusOr<ClusterAuthority> ReadAuthority(const std::string& state_dir) {
  const Paths paths(state_dir);
  absl::StatusOr<ClusterAuthority> read = ReadOnce(paths);
  for (int i = 1; i < kReadAttempts && absl::IsAborted(read.status()); ++i) read = ReadOnce(paths);
  return read;
}

absl::StatusOr<ClusterAuthority> ReadOrMakeAuthority(const std::string& state_dir,
                                                     const std::string& cluster_id,
                                                     absl::Time wall) {
  absl::StatusOr<ClusterAuthority> read = ReadAuthority(state_dir);
  if (read.ok()) ACCEL_RETURN_IF_ERROR(DropFormerKey(state_dir));
  if (!absl::IsNotFound(read.status())) return read;
  // The certificate is written last. If it does not exist, no certificate was issued yet. A key may
  // exist from a start that was interrupted.
  const Paths paths(state_dir);
  ACCEL_ASSIGN_OR_RETURN(ClusterAuthority made, ClusterAuthority::Make(cluster_id, wall));
  ACCEL_RETURN_IF_ERROR(security::WriteSecretFile(paths.key, made.present().key.ToPem()));
  ACCEL_RETURN_IF_ERROR(security::WriteSecretFile(paths.id, cluster_id + "\n"));
  ACCEL_RETURN_IF_ERROR(
      security::WriteSecretFile(paths.certificate, made.present().certificate.ToPem()));
  return made;
}

absl::StatusOr<ClusterAuthority> BeginRotation(const std::string& state_dir,
                                               const ClusterAuthority& authority, absl::Time wall) {
  DropDrafts(state_dir);
  ACCEL_ASSIGN_OR_RETURN(security::Authority next,
                         security::MakeAuthority(authority.cluster_id(), wall));
  ACCEL_RETURN_IF_ERROR(security::WriteSecretFile(
      Paths(state_dir).next, absl::StrCat(next.certificate.ToPem(), next.key.ToPem())));
  return ClusterAuthority(authority.cluster_id(), std::move(next), authority.present());
}

absl::Status FinishRotation(const std::string& state_dir) {
  const Paths paths(state_dir);
  DropDrafts(state_dir);
  // The rename makes the change. It also deletes a former authority whose key is in ca.crt.
  if (std::rename(paths.next.c_str(), paths.certificate.c_str()) != 0 && errno != ENOENT) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot replace ", paths.certificate));
  }
  ACCEL_RETURN_IF_ERROR(SyncFolder(state_dir));
  return DropFormerKey(state_dir);
}

std::string AuthorityStamp(const std::string& state_dir) {
  const Paths paths(state_dir);
  return absl::StrCat(StampOf(paths.certificate), ", ", StampOf(paths.key), ", ",
                      StampOf(paths.next));
}

}  // namespace accel::coordinator
