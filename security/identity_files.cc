#include "security/identity_files.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "security/secret_file.h"

namespace accel::security {

absl::StatusOr<PrivateKey> IdentityFiles::ReadOrMakeKey() const {
  const absl::StatusOr<std::string> pem = ReadSecretFile(key_);
  if (absl::IsNotFound(pem.status())) {
    ACCEL_ASSIGN_OR_RETURN(PrivateKey made, PrivateKey::Make());
    ACCEL_RETURN_IF_ERROR(WriteSecretFile(key_, made.ToPem()));
    return made;
  }
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

absl::StatusOr<ClientIdentity> IdentityFiles::Read() const {
  ClientIdentity identity;
  ACCEL_ASSIGN_OR_RETURN(identity.certificate, ReadSecretFile(certificate_));
  ACCEL_ASSIGN_OR_RETURN(identity.key, ReadSecretFile(key_));
  ACCEL_ASSIGN_OR_RETURN(identity.authorities, ReadSecretFile(authorities_));
  return identity;
}

absl::StatusOr<std::string> IdentityFiles::ReadCoordinator() const {
  ACCEL_ASSIGN_OR_RETURN(const std::string text, ReadSecretFile(coordinator_));
  return std::string(absl::StripAsciiWhitespace(text));
}

}  // namespace accel::security
