// One certificate, which can be read from text, written, and verified. issue.h makes certificates.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "security/key.h"
#include "security/principal.h"

struct x509_st;  // OpenSSL's X509.

namespace accel::security {

// Maximum size in bytes of a text with certificates. During a rotation a text has two authorities.
inline constexpr size_t kMaxCertificatesBytes = 16 << 10;

// Immutable, and so thread-safe. Copies share the certificate.
class Certificate {
 public:
  // Takes over an OpenSSL certificate.
  explicit Certificate(std::shared_ptr<x509_st> x509) : x509_(std::move(x509)) {}
  // Returns the first certificate of a text in PEM. Errors are those of ReadCertificates().
  static absl::StatusOr<Certificate> FromPem(absl::string_view pem);

  std::string ToPem() const;
  std::string ToDer() const;
  absl::Time not_before() const;
  absl::Time not_after() const;
  PublicKey public_key() const;
  // Returns the principal in the URI of the certificate. INVALID_ARGUMENT: the certificate has no
  // such URI, or more than one name.
  absl::StatusOr<Principal> principal() const;
  // Returns the name under which a node has joined. It is in the certificate only so that the node
  // knows its name. The coordinator uses the name in its own table. Empty if the certificate has no
  // name, as in earlier versions. INVALID_ARGUMENT: no node may have this name.
  absl::StatusOr<std::string> node_name() const;
  x509_st* get() const { return x509_.get(); }

 private:
  std::shared_ptr<x509_st> x509_;
};

// Reads all certificates of a text in PEM, at most 8. INVALID_ARGUMENT: there are no certificates
// or too many, one is damaged, or the text is longer than kMaxCertificatesBytes.
absl::StatusOr<std::vector<Certificate>> ReadCertificates(absl::string_view pem);

// Returns the pin of a certificate: sha256 of its SubjectPublicKeyInfo, 32 bytes.
std::string PinOf(const Certificate& certificate);

enum class Purpose { kServer, kClient };

// Verifies that one of `authorities` has signed `leaf`, and that `leaf` is valid for `purpose` at
// `now`. FAILED_PRECONDITION: it is not; the message has OpenSSL's reason.
absl::Status Verify(const Certificate& leaf, const std::vector<Certificate>& authorities,
                    Purpose purpose, absl::Time now);

}  // namespace accel::security
