// Builds and signs one certificate from its fields. For issue.h and derived_ca.h, which
// choose the fields.
#pragma once

#include <openssl/obj_mac.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "security/certificate.h"
#include "security/key.h"

namespace accel::security {

struct CertificateFields {
  std::string subject;  // The common name, for people. No decision reads it.
  std::string serial;   // Hexadecimal digits.
  absl::Time not_before;
  absl::Time not_after;
  struct Extension {
    int nid;            // OpenSSL's number, for example NID_key_usage.
    std::string value;  // As in OpenSSL's configuration files.
  };
  std::vector<Extension> extensions;
  std::string node_name = "";  // For a node's certificate: see Certificate::node_name().
};

// Builds a certificate of version 3 for `key`, signed with `signer`. If `issuer` is null, the
// certificate is its own issuer. INTERNAL: OpenSSL failed.
absl::StatusOr<Certificate> BuildCertificate(const CertificateFields& fields, const PublicKey& key,
                                             const PrivateKey& signer, const Certificate* issuer);

}  // namespace accel::security
