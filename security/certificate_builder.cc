#include "security/certificate_builder.h"

#include <memory>
#include <utility>

#include "common/status_macros.h"
#include "security/openssl_handles.h"
#include "security/openssl_init.h"

namespace accel::security {
namespace {

bool SetSerial(const std::string& digits, X509* x509) {
  BIGNUM* number = nullptr;
  if (BN_hex2bn(&number, digits.c_str()) != static_cast<int>(digits.size())) return false;
  const BignumHandle owner(number);
  return BN_to_ASN1_INTEGER(number, X509_get_serialNumber(x509)) != nullptr;
}

// Writes UTCTime before 2050 and GeneralizedTime from then on, as RFC 5280 requires.
bool SetTime(absl::Time time, ASN1_TIME* to) {
  return ASN1_TIME_set(to, absl::ToTimeT(time)) != nullptr;
}

bool SetName(const std::string& name, X509_NAME* subject) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(name.data());
  return name.empty() || X509_NAME_add_entry_by_NID(subject, NID_name, MBSTRING_UTF8, bytes,
                                                    static_cast<int>(name.size()), -1, 0) == 1;
}

bool AddExtension(int nid, const std::string& value, X509* issuer, X509* x509) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, x509, nullptr, nullptr, 0);
  const ExtensionHandle extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension != nullptr && X509_add_ext(x509, extension.get(), -1) == 1;
}

bool Fill(const CertificateFields& fields, const PublicKey& key, X509* issuer, X509* x509) {
  X509_NAME* const subject = X509_get_subject_name(x509);
  const auto* const name = reinterpret_cast<const unsigned char*>(fields.subject.data());
  if (X509_set_version(x509, X509_VERSION_3) != 1 || !SetSerial(fields.serial, x509) ||
      X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_UTF8, name,
                                 static_cast<int>(fields.subject.size()), -1, 0) != 1 ||
      !SetName(fields.node_name, subject) ||
      X509_set_issuer_name(x509, X509_get_subject_name(issuer)) != 1 ||
      !SetTime(fields.not_before, X509_getm_notBefore(x509)) ||
      !SetTime(fields.not_after, X509_getm_notAfter(x509)) ||
      X509_set_pubkey(x509, key.get()) != 1) {
    return false;
  }
  for (const auto& [nid, value] : fields.extensions) {
    if (!AddExtension(nid, value, issuer, x509)) return false;
  }
  // The identifiers let OpenSSL choose between two authorities of one cluster.
  if (!AddExtension(NID_subject_key_identifier, "hash", issuer, x509)) return false;
  return issuer == x509 || AddExtension(NID_authority_key_identifier, "keyid:always", issuer, x509);
}

}  // namespace

absl::StatusOr<Certificate> BuildCertificate(const CertificateFields& fields, const PublicKey& key,
                                             const PrivateKey& signer, const Certificate* issuer) {
  InitOpenSsl();
  X509Handle x509(X509_new());
  if (x509 == nullptr || !Fill(fields, key, issuer ? issuer->get() : x509.get(), x509.get())) {
    return OpenSslError("cannot make a certificate");
  }
  // Ed25519 takes no separate hash function.
  const EVP_MD* const digest = EVP_PKEY_is_a(signer.get(), "ED25519") ? nullptr : EVP_sha256();
  if (X509_sign(x509.get(), signer.get(), digest) <= 0) {
    return OpenSslError("cannot sign a certificate");
  }
  return Certificate(std::shared_ptr<X509>(std::move(x509)));
}

}  // namespace accel::security
