// Counts how many members of a cluster have followed a rotation of its authority. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "coordinator/core/access/access_state.h"
#include "security/certificate.h"

namespace accel::coordinator {

// A valid certificate that the present authority has not issued.
struct FormerCertificate {
  v1::MemberKind kind = v1::NODE_MEMBER;
  std::string name;  // The name of the member, or the id if it has no name.
  std::string serial;
  // The time of its last use, within about an hour. InfinitePast() if it was never used.
  absl::Time seen = absl::InfinitePast();
  // True if the certificate was renewed under the present authority. The renewal may not have been
  // used yet, and its holder may have lost it, so this certificate is still needed.
  bool is_renewed = false;
};

struct RotationProgress {
  int issued = 0;  // Number of valid certificates of the present authority.
  std::vector<FormerCertificate> former;
};

// Counts the valid certificates that the present authority has issued, and lists all others.
RotationProgress CountCertificates(const AccessState& state, const security::Certificate& present,
                                   absl::Time wall);

// Ends the valid certificates that the present authority has not issued: their state becomes
// REPLACED. Otherwise their holders could still call over open connections, and renew. Returns the
// number of these certificates.
int EndFormerCertificates(const security::Certificate& present, absl::Time wall, AccessState* state,
                          AccessChanges* changes);

// Returns a line for each certificate, at most 20 lines, and one line with the number
// of the others.
std::string Describe(const std::vector<FormerCertificate>& former);

}  // namespace accel::coordinator
