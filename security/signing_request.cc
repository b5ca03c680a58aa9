#include "security/signing_request.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "security/openssl_handles.h"
#include "security/openssl_init.h"

namespace accel::security {
namespace {

absl::Status Refuse(absl::string_view why) {
  DropOpenSslErrors();
  return absl::InvalidArgumentError(absl::StrCat("the certificate request ", why));
}

}  // namespace

absl::StatusOr<std::string> MakeRequest(const PrivateKey& key) {
  InitOpenSsl();
  const RequestHandle request(X509_REQ_new());
  const EVP_MD* const digest = EVP_PKEY_is_a(key.get(), "ED25519") ? nullptr : EVP_sha256();
  if (request == nullptr || X509_REQ_set_pubkey(request.get(), key.get()) != 1 ||
      X509_REQ_sign(request.get(), key.get(), digest) <= 0) {
    return OpenSslError("cannot make a certificate request");
  }
  unsigned char* bytes = nullptr;
  const int size = i2d_X509_REQ(request.get(), &bytes);
  if (size <= 0) return OpenSslError("cannot make a certificate request");
  std::string der(reinterpret_cast<char*>(bytes), static_cast<size_t>(size));
  OPENSSL_free(bytes);
  return der;
}

absl::StatusOr<PublicKey> CheckRequest(absl::string_view der) {
  InitOpenSsl();
  if (der.size() > kMaxRequestBytes) {
    return Refuse(absl::StrCat("has ", der.size(), " bytes; at most ", kMaxRequestBytes));
  }
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  const auto* const end = at + der.size();
  const RequestHandle request(d2i_X509_REQ(nullptr, &at, static_cast<long>(der.size())));
  if (request == nullptr) return Refuse("is not PKCS#10 in DER");
  if (at != end) return Refuse("is followed by other bytes");
  KeyHandle handle(X509_REQ_get_pubkey(request.get()));
  if (handle == nullptr) return Refuse("has no key that OpenSSL can read");
  EVP_PKEY* const raw = handle.get();
  PublicKey key{std::shared_ptr<EVP_PKEY>(std::move(handle))};
  // The kind of key is checked first, because checking the signature of a huge RSA key takes long.
  if (!key.IsAccepted()) return Refuse("has a key that is neither P-256 nor Ed25519");
  if (X509_REQ_verify(request.get(), raw) != 1) return Refuse("is not signed with its own key");
  return key;
}

}  // namespace accel::security
