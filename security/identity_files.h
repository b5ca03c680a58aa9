// The files of a client's identity in its folder, mode 0600 in a folder of mode 0700:
//
//   FOLDER/PREFIX.key    the private key, which never leaves this machine
//   FOLDER/PREFIX.crt    the certificate
//   FOLDER/ca.crt        whom the client trusts
//   FOLDER/coordinator   HOST:PORT of the coordinator
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "security/client_identity.h"
#include "security/key.h"

namespace accel::security {

class IdentityFiles {
 public:
  // `prefix` is "node" or "user". `folder` must exist before anything is written.
  IdentityFiles(const std::string& folder, const std::string& prefix)
      : key_(folder + "/" + prefix + ".key"),
        certificate_(folder + "/" + prefix + ".crt"),
        authorities_(folder + "/ca.crt"),
        coordinator_(folder + "/coordinator") {}

  // Returns the key in the folder, and makes one if there is none. A request that is repeated after
  // a lost answer must have the same key. Errors are those of secret_file.h, and
  // FAILED_PRECONDITION if the key is damaged.
  absl::StatusOr<PrivateKey> ReadOrMakeKey() const;

  // Stores what an enrolment or a renewal has given for that key. The certificate is written last,
  // so that an identity with a certificate is complete.
  absl::Status Write(const std::string& certificate, const std::string& authorities,
                     const std::string& coordinator) const;

  // NOT_FOUND: there is no identity here. Others as above.
  absl::StatusOr<ClientIdentity> Read() const;
  // Returns HOST:PORT.
  absl::StatusOr<std::string> ReadCoordinator() const;

 private:
  const std::string key_;
  const std::string certificate_;
  const std::string authorities_;
  const std::string coordinator_;
};

}  // namespace accel::security
