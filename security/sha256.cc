#include "security/sha256.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "absl/strings/escaping.h"
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

struct Sha256Stream::State {
  EVP_MD_CTX* const context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256Stream::Sha256Stream() {
  InitOpenSsl();
  state_ = std::make_unique<State>();
  ACCEL_CHECK(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1,
              "OpenSSL has SHA-256");
}

Sha256Stream::~Sha256Stream() = default;
Sha256Stream::Sha256Stream(Sha256Stream&&) noexcept = default;
Sha256Stream& Sha256Stream::operator=(Sha256Stream&&) noexcept = default;

void Sha256Stream::Add(absl::string_view bytes) {
  ACCEL_CHECK(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1,
              "bytes in memory can be hashed");
}

std::string Sha256Stream::HexDigest() {
  unsigned char hash[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  ACCEL_CHECK(EVP_DigestFinal_ex(state_->context, hash, &size) == 1 && size == kSha256Bytes,
              "bytes in memory can be hashed");
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<char*>(hash), size));
}

bool EqualSecrets(absl::string_view secret, absl::string_view candidate) {
  return secret.size() == candidate.size() &&
         CRYPTO_memcmp(secret.data(), candidate.data(), secret.size()) == 0;
}

}  // namespace accel::security
