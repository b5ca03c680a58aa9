// The files of a client's identity in its folder, mode 0600 in a folder of mode 0700:
//
//   FOLDER/PREFIX.key        the private key, which never leaves this machine
//   FOLDER/PREFIX.crt        the certificate; a renewed one is followed by its private key
//   FOLDER/PREFIX.next.key   the key of a renewal that has begun
//   FOLDER/ca.crt            whom the client trusts
//   FOLDER/coordinator       HOST:PORT of the coordinator
//
// A renewal changes the key too, and two files cannot be replaced at the same moment. A renewed
// certificate is therefore written together with its key, in one file (docs/decisions/0076).
// Readers take the key from there, so they get the old pair or the new one.
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
        next_key_(folder + "/" + prefix + ".next.key"),
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

  // Returns the key for a renewal of `current`. An attempt whose answer was lost left its key,
  // which is used again, because the coordinator then repeats its answer. Errors as above.
  absl::StatusOr<PrivateKey> ReadOrMakeNextKey(const ClientIdentity& current) const;
  // Lets the next renewal begin with another key.
  void DropNextKey() const;
  // Replaces the identity by one with the key of ReadOrMakeNextKey(). A crash leaves the old one or
  // the new one. ABORTED: the files have another identity than `old`, because a login or another
  // renewal was faster. Others: the disk's.
  absl::Status Replace(const ClientIdentity& old, const ClientIdentity& renewed) const;

  // NOT_FOUND: there is no identity here. ABORTED: it changes all the time. Others as above.
  absl::StatusOr<ClientIdentity> Read() const;
  // Returns HOST:PORT.
  absl::StatusOr<std::string> ReadCoordinator() const;

 private:
  const std::string key_;
  const std::string next_key_;
  const std::string certificate_;
  const std::string authorities_;
  const std::string coordinator_;
};

}  // namespace accel::security
