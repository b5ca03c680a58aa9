#include "security/identity_files.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "security/secret_file.h"

namespace accel::security {
namespace {

constexpr char kKeyBegin[] = "-----BEGIN PRIVATE KEY-----";  // As in PrivateKey::ToPem().

constexpr int kReadAttempts = 10;  // Many, because an identity changes only every few weeks.

absl::StatusOr<PrivateKey> MakeKey(const std::string& path) {
  ACCEL_ASSIGN_OR_RETURN(PrivateKey made, PrivateKey::Make());
  ACCEL_RETURN_IF_ERROR(WriteSecretFile(path, made.ToPem()));
  return made;
}

}  // namespace

absl::StatusOr<PrivateKey> IdentityFiles::ReadOrMakeKey() const {
  const absl::StatusOr<std::string> pem = ReadSecretFile(key_);
  if (absl::IsNotFound(pem.status())) return MakeKey(key_);
  ACCEL_RETURN_IF_ERROR(pem.status());
  absl::StatusOr<PrivateKey> key = PrivateKey::FromPem(*pem);
  if (key.ok()) return key;
  return absl::FailedPreconditionError(
      absl::StrCat(key_, ": ", key.status().message(), "; delete the file and try again"));
}

absl::Status IdentityFiles::Write(const std::string& certificate, const std::string& authorities,
                                  const std::string& coordinator) const {
  ACCEL_RETURN_IF_ERROR(WriteSecretFile(authorities_, authorities));
  ACCEL_RETURN_IF_ERROR(WriteSecretFile(coordinator_, coordinator + "\n"));
  return WriteSecretFile(certificate_, certificate);
}

absl::StatusOr<PrivateKey> IdentityFiles::ReadOrMakeNextKey(const ClientIdentity& current) const {
  const absl::StatusOr<std::string> pem = ReadSecretFile(next_key_);
  if (absl::IsNotFound(pem.status())) return MakeKey(next_key_);
  ACCEL_RETURN_IF_ERROR(pem.status());
  absl::StatusOr<PrivateKey> key = PrivateKey::FromPem(*pem);
  // A crash at the end of Replace() leaves the key that is in use now, and a renewal
  // needs another key.
  if (!key.ok() || key->ToPem() == current.key) return MakeKey(next_key_);
  return key;
}

void IdentityFiles::DropNextKey() const { unlink(next_key_.c_str()); }

absl::Status IdentityFiles::Replace(const ClientIdentity& old,
                                    const ClientIdentity& renewed) const {
  ACCEL_ASSIGN_OR_RETURN(const ClientIdentity present, Read());
  if (present.certificate != old.certificate) {
    return absl::AbortedError(absl::StrCat(certificate_, " was replaced meanwhile"));
  }
  // The authorities are written before the certificate. During a rotation they also contain the
  // authority of the old certificate, so the old identity remains usable.
  ACCEL_RETURN_IF_ERROR(WriteSecretFile(authorities_, renewed.authorities));
  // From this write on, the identity is the new one. The step after it only tidies up.
  ACCEL_RETURN_IF_ERROR(
      WriteSecretFile(certificate_, absl::StrCat(renewed.certificate, renewed.key)));
  // Best effort, for programs that read the key only from its own file. They would otherwise find
  // the old key there.
  std::rename(next_key_.c_str(), key_.c_str());
  return absl::OkStatus();
}

absl::StatusOr<ClientIdentity> IdentityFiles::Read() const {
  for (int attempt = 0; attempt < kReadAttempts; ++attempt) {
    ClientIdentity identity;
    ACCEL_ASSIGN_OR_RETURN(const std::string content, ReadSecretFile(certificate_));
    const size_t key = content.find(kKeyBegin);
    identity.certificate = content.substr(0, key);
    if (key != std::string::npos) {
      identity.key = content.substr(key);
    } else {
      ACCEL_ASSIGN_OR_RETURN(identity.key, ReadSecretFile(key_));
      // The certificate is read again, because a first renewal may have changed both files between
      // the two reads.
      ACCEL_ASSIGN_OR_RETURN(const std::string again, ReadSecretFile(certificate_));
      if (again != content) continue;
    }
    ACCEL_ASSIGN_OR_RETURN(identity.authorities, ReadSecretFile(authorities_));
    return identity;
  }
  return absl::AbortedError(absl::StrCat(certificate_, " changes all the time; try again"));
}

absl::StatusOr<std::string> IdentityFiles::ReadCoordinator() const {
  ACCEL_ASSIGN_OR_RETURN(const std::string text, ReadSecretFile(coordinator_));
  return std::string(absl::StripAsciiWhitespace(text));
}

}  // namespace accel::security
