#include "security/certificate.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <ctime>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status_macros.h"
#include "security/openssl_handles.h"
#include "security/openssl_init.h"
#include "security/sha256.h"

namespace accel::security {
namespace {

constexpr size_t kMaxCertificates = 8;

absl::Time ToTime(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return absl::InfinitePast();
  return absl::FromTM(parts, absl::UTCTimeZone());
}

}  // namespace

absl::StatusOr<Certificate> Certificate::FromPem(absl::string_view pem) {
  absl::StatusOr<std::vector<Certificate>> all = ReadCertificates(pem);
  if (!all.ok()) return all.status();
  return all->front();
}

std::string Certificate::ToPem() const {
  const BioHandle bio(BIO_new(BIO_s_mem()));
  ACCEL_CHECK(PEM_write_bio_X509(bio.get(), x509_.get()) == 1,
              "a certificate can be written to memory");
  return TextOf(bio.get());
}

std::string Certificate::ToDer() const {
  unsigned char* bytes = nullptr;
  const int size = i2d_X509(x509_.get(), &bytes);
  ACCEL_CHECK(size > 0, "a certificate can be written to memory");
  std::string der(reinterpret_cast<char*>(bytes), static_cast<size_t>(size));
  OPENSSL_free(bytes);
  return der;
}

absl::Time Certificate::not_before() const { return ToTime(X509_get0_notBefore(x509_.get())); }
absl::Time Certificate::not_after() const { return ToTime(X509_get0_notAfter(x509_.get())); }

PublicKey Certificate::public_key() const {
  return PublicKey(
      std::shared_ptr<EVP_PKEY>(X509_get_pubkey(x509_.get()), OpenSslDeleter<EVP_PKEY_free>()));
}

absl::StatusOr<Principal> Certificate::principal() const {
  const NamesHandle names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(x509_.get(), NID_subject_alt_name, nullptr, nullptr)));
  if (names == nullptr || sk_GENERAL_NAME_num(names.get()) != 1) {
    return absl::InvalidArgumentError("the certificate does not have exactly one name");
  }
  int type = 0;
  const void* value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), 0), &type);
  if (type != GEN_URI) return absl::InvalidArgumentError("the certificate's name is not a URI");
  const auto* uri = static_cast<const ASN1_IA5STRING*>(value);
  return ParsePrincipal(absl::string_view(reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
                                          static_cast<size_t>(ASN1_STRING_length(uri))));
}

absl::StatusOr<std::string> Certificate::node_name() const {
  char text[kMaxPrincipalNameBytes + 2] = "";
  const int size =
      X509_NAME_get_text_by_NID(X509_get_subject_name(x509_.get()), NID_name, text, sizeof text);
  if (size < 0) return std::string();
  const std::string name(text, static_cast<size_t>(size));
  ACCEL_RETURN_IF_ERROR(CheckPrincipalName("the node's name in its certificate", name));
  return name;
}

absl::StatusOr<std::vector<Certificate>> ReadCertificates(absl::string_view pem) {
  InitOpenSsl();
  std::vector<Certificate> found;
  if (pem.size() > kMaxCertificatesBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(pem.size(), " bytes are too many for certificates"));
  }
  const BioHandle bio = ReadFrom(pem);
  while (found.size() <= kMaxCertificates) {
    X509Handle x509(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (x509 == nullptr) break;
    // A certificate with a key that OpenSSL cannot read is damaged, because later calls would
    // return a null key.
    if (X509_get0_pubkey(x509.get()) == nullptr) break;
    found.emplace_back(std::shared_ptr<X509>(std::move(x509)));
  }
  // OpenSSL also reports the end of the text as an error, with this reason.
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (found.empty() || found.size() > kMaxCertificates || !at_end) {
    return absl::InvalidArgumentError(
        absl::StrCat("not 1 to ", kMaxCertificates, " certificates in PEM, or one is damaged"));
  }
  return found;
}

std::string PinOf(const Certificate& certificate) {
  return Sha256(certificate.public_key().ToDer());
}

absl::Status Verify(const Certificate& leaf, const std::vector<Certificate>& authorities,
                    Purpose purpose, absl::Time now) {
  const StoreHandle store(X509_STORE_new());
  const StoreContextHandle context(X509_STORE_CTX_new());
  if (store == nullptr || context == nullptr) return OpenSslError("cannot verify a certificate");
  for (const Certificate& authority : authorities)
    X509_STORE_add_cert(store.get(), authority.get());
  if (X509_STORE_CTX_init(context.get(), store.get(), leaf.get(), nullptr) != 1) {
    return OpenSslError("cannot verify a certificate");
  }
  X509_STORE_CTX_set_purpose(context.get(), purpose == Purpose::kServer ? X509_PURPOSE_SSL_SERVER
                                                                        : X509_PURPOSE_SSL_CLIENT);
  X509_STORE_CTX_set_time(context.get(), 0, absl::ToTimeT(now));
  if (X509_verify_cert(context.get()) == 1) return absl::OkStatus();
  ERR_clear_error();
  return absl::FailedPreconditionError(
      X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get())));
}

}  // namespace accel::security
