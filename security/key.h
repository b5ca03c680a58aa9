// Key pairs, which can be made, read and written. A made key is P-256, and a derived
// one is Ed25519.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct evp_pkey_st;  // OpenSSL's EVP_PKEY.

namespace accel::security {

// The public half of a key pair. Immutable, and so thread-safe. Copies share the key.
class PublicKey {
 public:
  explicit PublicKey(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {}

  // Returns the SubjectPublicKeyInfo in DER.
  std::string ToDer() const;
  // Returns true if the key is P-256 or Ed25519, for which accel issues certificates.
  bool IsAccepted() const;
  evp_pkey_st* get() const { return key_.get(); }

 private:
  std::shared_ptr<evp_pkey_st> key_;
};

// Immutable, and so thread-safe. Copies share the key.
class PrivateKey {
 public:
  // Makes a new P-256 key. INTERNAL: OpenSSL failed.
  static absl::StatusOr<PrivateKey> Make();
  // Returns the Ed25519 key with this seed of 32 bytes.
  static absl::StatusOr<PrivateKey> FromSeed(absl::string_view seed);
  // Reads an unencrypted key in PEM, of at most 4 KiB. INVALID_ARGUMENT: the text is not such a
  // key, or the key is neither P-256 nor Ed25519.
  static absl::StatusOr<PrivateKey> FromPem(absl::string_view pem);

  // Returns PKCS#8 in PEM, unencrypted.
  std::string ToPem() const;
  PublicKey public_key() const { return PublicKey(key_); }
  evp_pkey_st* get() const { return key_.get(); }

 private:
  explicit PrivateKey(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {}

  std::shared_ptr<evp_pkey_st> key_;
};

}  // namespace accel::security
