// One certificate: read, written, and asked for what it says. issue.h makes them.
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

// Maximum size of a file with certificates, in bytes: two of a cluster's, during a rotation.
inline constexpr size_t kMaxCertificatesBytes = 16 << 10;

// Immutable, and so thread-safe. Copies share the certificate.
class Certificate {
 public:
  // Takes over a certificate.
  explicit Certificate(std::shared_ptr<x509_st> x509) : x509_(std::move(x509)) {}
  // Reads the first certificate of a text. INVALID_ARGUMENT: it has none.
  static absl::StatusOr<Certificate> FromPem(absl::string_view pem);

  std::string ToPem() const;
  std::string ToDer() const;
  absl::Time not_before() const;
  absl::Time not_after() const;
  PublicKey public_key() const;
  // Returns the principal in the URI of the certificate. INVALID_ARGUMENT: it has no such URI, or
  // more than one name.
  absl::StatusOr<Principal> principal() const;
  // Returns the name under which a node has joined. The coordinator's table decides; the name is
  // here so that the node knows it. Empty if it has none, as those of earlier versions.
  // INVALID_ARGUMENT: it is one that no node may have.
  absl::StatusOr<std::string> node_name() const;
  x509_st* get() const { return x509_.get(); }

 private:
  std::shared_ptr<x509_st> x509_;
};

// Reads all certificates of a text, at most 8. INVALID_ARGUMENT: there are none, or too many, or
// one is damaged.
absl::StatusOr<std::vector<Certificate>> ReadCertificates(absl::string_view pem);

// Returns the pin of a certificate: sha256 of its SubjectPublicKeyInfo, 32 bytes.
std::string PinOf(const Certificate& certificate);

enum class Purpose { kServer, kClient };

// Verifies that one of `authorities` has signed `leaf` for this purpose, at this time. Fails with
// FAILED_PRECONDITION and OpenSSL's reason.
absl::Status Verify(const Certificate& leaf, const std::vector<Certificate>& authorities,
                    Purpose purpose, absl::Time now);

}  // namespace accel::security
