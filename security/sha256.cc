#include "security/sha256.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "common/check.h"
#include "security/openssl_init.h"

namespace accel::security {

std::string Sha256(absl::string_view bytes) {
  InitOpenSsl();
  unsigned char hash[EVP_MAX_MD_SIZE];
  size_t size = 0;
  ACCEL_CHECK(
      EVP_Q_digest(nullptr, "SHA256", nullptr, bytes.data(), bytes.size(), hash, &size) == 1 &&
          size == kSha256Bytes,
      "OpenSSL has SHA-256");
  return std::string(reinterpret_cast<char*>(hash), size);
}

bool EqualSecrets(absl::string_view secret, absl::string_view candidate) {
  return secret.size() == candidate.size() &&
         CRYPTO_memcmp(secret.data(), candidate.data(), secret.size()) == 0;
}

}  // namespace accel::security
