// The files of a client's identity in its folder, mode 0600 in a folder of mode 0700:
//
//   FOLDER/PREFIX.key        the private key, which never leaves this machine
//   FOLDER/PREFIX.crt        the certificate; a renewed one is followed by its private key
//   FOLDER/PREFIX.next.key   the key of a renewal that has begun
//   FOLDER/ca.crt            whom the client trusts
//   FOLDER/coordinator       HOST:PORT of the coordinator
//
// A renewal changes the key too, but two files cannot be replaced in one step. A renewed
// certificate is therefore written together with its key, in one file (docs/decisions/0076).
// Readers take the key from that file, so they always get a matching pair.
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

  // Returns the key in the folder, and makes one if there is none. The key is kept, because a
  // request that is repeated after a lost answer must have the same key. FAILED_PRECONDITION: the
  // key is damaged. Other errors are those of secret_file.h.
  absl::StatusOr<PrivateKey> ReadOrMakeKey() const;

  // Stores the answer to an enrolment with the key of ReadOrMakeKey(). Writes the certificate last,
  // so that an identity with a certificate is complete.
  absl::Status Write(const std::string& certificate, const std::string& authorities,
                     const std::string& coordinator) const;

  // Returns the key for a renewal of `current`. If an earlier attempt has left a key, it is
  // used again, because the coordinator repeats its answer for the same key. Errors are
  // those of secret_file.h.
  absl::StatusOr<PrivateKey> ReadOrMakeNextKey(const ClientIdentity& current) const;
  // Deletes the key of the renewal, so that the next attempt makes another one.
  void DropNextKey() const;
  // Replaces the identity by `renewed`, which has the key of ReadOrMakeNextKey(). A crash
  // leaves either the old or the new identity. ABORTED: the files no longer have the identity
  // `old`, because a login or another renewal has replaced it. Other errors are those of Read()
  // and of the disk.
  absl::Status Replace(const ClientIdentity& old, const ClientIdentity& renewed) const;

  // Returns the identity. NOT_FOUND: there is none in the folder. ABORTED: the files changed during
  // each of several attempts. Other errors are those of secret_file.h.
  absl::StatusOr<ClientIdentity> Read() const;
  // Returns HOST:PORT of the coordinator. NOT_FOUND: the folder has none. Other errors are
  // those of secret_file.h.
  absl::StatusOr<std::string> ReadCoordinator() const;

 private:
  const std::string key_;
  const std::string next_key_;
  const std::string certificate_;
  const std::string authorities_;
  const std::string coordinator_;
};

}  // namespace accel::security
