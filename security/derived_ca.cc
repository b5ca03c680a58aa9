#include "security/derived_ca.h"

#include <openssl/core_names.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <memory>
#include <utility>

#include "common/status_macros.h"
#include "security/certificate_builder.h"
#include "security/openssl_handles.h"
#include "security/openssl_init.h"

namespace accel::security {
namespace {

constexpr absl::string_view kSalt = "accel launch v1";
constexpr size_t kSeedBytes = 32;  // An Ed25519 seed.
// Constant, because the clocks of the machines differ. The life of the authority is limited by that
// of the secret, and not by time.
constexpr absl::CivilSecond kNotBefore = absl::CivilSecond(2020, 1, 1);
constexpr absl::CivilSecond kNotAfter = absl::CivilSecond(2049, 12, 31);

using KdfHandle = std::unique_ptr<EVP_KDF, OpenSslDeleter<EVP_KDF_free>>;
using KdfContextHandle = std::unique_ptr<EVP_KDF_CTX, OpenSslDeleter<EVP_KDF_CTX_free>>;

OSSL_PARAM Octets(const char* name, absl::string_view bytes) {
  return OSSL_PARAM_construct_octet_string(name, const_cast<char*>(bytes.data()), bytes.size());
}

}  // namespace

absl::StatusOr<std::string> Hkdf(absl::string_view secret, absl::string_view salt,
                                 absl::string_view info, size_t bytes) {
  InitOpenSsl();
  const KdfHandle kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  const KdfContextHandle context(EVP_KDF_CTX_new(kdf.get()));
  if (context == nullptr) return OpenSslError("OpenSSL has no HKDF");
  char digest[] = "SHA256";
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
      Octets(OSSL_KDF_PARAM_KEY, secret), Octets(OSSL_KDF_PARAM_SALT, salt),
      Octets(OSSL_KDF_PARAM_INFO, info), OSSL_PARAM_construct_end()};
  std::string derived(bytes, '\0');
  if (EVP_KDF_derive(context.get(), reinterpret_cast<unsigned char*>(derived.data()), bytes,
                     parameters) != 1) {
    return OpenSslError("cannot derive a key");
  }
  return derived;
}

absl::StatusOr<Authority> DeriveAuthority(absl::string_view secret, absl::string_view info) {
  ACCEL_ASSIGN_OR_RETURN(const std::string seed, Hkdf(secret, kSalt, info, kSeedBytes));
  ACCEL_ASSIGN_OR_RETURN(PrivateKey key, PrivateKey::FromSeed(seed));
  ACCEL_ASSIGN_OR_RETURN(
      Certificate certificate,
      BuildCertificate({.subject = "accel launch",
                        .serial = "01",
                        .not_before = absl::FromCivil(kNotBefore, absl::UTCTimeZone()),
                        .not_after = absl::FromCivil(kNotAfter, absl::UTCTimeZone()),
                        .extensions = {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                                       {NID_key_usage, "critical,keyCertSign"}}},
                       key.public_key(), key, nullptr));
  return Authority{std::move(key), std::move(certificate)};
}

}  // namespace accel::security
