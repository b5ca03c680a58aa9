#include "security/key.h"

#include <openssl/core_names.h>
#include <openssl/pem.h>

#include <utility>

#include "common/check.h"
#include "security/openssl_handles.h"
#include "security/openssl_init.h"

namespace accel::security {
namespace {

constexpr size_t kMaxKeyPemBytes = 4096;

// Gives no password. Without this function, OpenSSL would ask for the password of an encrypted key
// on the terminal.
int NoPassword(char*, int, int, void*) { return 0; }

}  // namespace

std::string PublicKey::ToDer() const {
  unsigned char* bytes = nullptr;
  const int size = i2d_PUBKEY(key_.get(), &bytes);
  ACCEL_CHECK(size > 0, "a key that OpenSSL holds has a public half");
  std::string der(reinterpret_cast<char*>(bytes), static_cast<size_t>(size));
  OPENSSL_free(bytes);
  return der;
}

bool PublicKey::IsAccepted() const {
  if (EVP_PKEY_is_a(key_.get(), "ED25519")) return true;
  char group[32] = "";
  size_t size = 0;
  return EVP_PKEY_is_a(key_.get(), "EC") &&
         EVP_PKEY_get_utf8_string_param(key_.get(), OSSL_PKEY_PARAM_GROUP_NAME, group,
                                        sizeof(group), &size) == 1 &&
         absl::string_view(group) == "prime256v1";
}

absl::StatusOr<PrivateKey> PrivateKey::Make() {
  InitOpenSsl();
  KeyHandle key(EVP_EC_gen("P-256"));
  if (key == nullptr) return OpenSslError("cannot make a key");
  return PrivateKey(std::shared_ptr<EVP_PKEY>(std::move(key)));
}

absl::StatusOr<PrivateKey> PrivateKey::FromSeed(absl::string_view seed) {
  InitOpenSsl();
  KeyHandle key(EVP_PKEY_new_raw_private_key(
      EVP_PKEY_ED25519, nullptr, reinterpret_cast<const unsigned char*>(seed.data()), seed.size()));
  if (key == nullptr) return OpenSslError("cannot derive a key");
  return PrivateKey(std::shared_ptr<EVP_PKEY>(std::move(key)));
}

absl::StatusOr<PrivateKey> PrivateKey::FromPem(absl::string_view pem) {
  InitOpenSsl();
  KeyHandle key;
  if (pem.size() <= kMaxKeyPemBytes) {
    const BioHandle bio = ReadFrom(pem);
    key.reset(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
  }
  if (key == nullptr ||
      !PublicKey(std::shared_ptr<EVP_PKEY>(key.get(), [](EVP_PKEY*) {})).IsAccepted()) {
    DropOpenSslErrors();
    return absl::InvalidArgumentError("not a P-256 or Ed25519 key in PEM");
  }
  return PrivateKey(std::shared_ptr<EVP_PKEY>(std::move(key)));
}

std::string PrivateKey::ToPem() const {
  const BioHandle bio(BIO_new(BIO_s_mem()));
  ACCEL_CHECK(PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr,
                                            nullptr) == 1,
              "a private key can be written to memory");
  return TextOf(bio.get());
}

}  // namespace accel::security
