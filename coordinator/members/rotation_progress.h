// How far the members of a cluster have followed a rotation of its authority. Pure.
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
  std::string name;  // The name of its member, or its id if it has none.
  std::string serial;
  // When it was used last, to about an hour. InfinitePast() if never.
  absl::Time seen = absl::InfinitePast();
  // It was renewed under the present authority, but the new one was not used yet. Its holder may
  // have lost it, so this one is still needed.
  bool is_renewed = false;
};

struct RotationProgress {
  int issued = 0;  // Number of valid certificates of the present authority.
  std::vector<FormerCertificate> former;
};

RotationProgress CountCertificates(const AccessState& state, const security::Certificate& present,
                                   absl::Time wall);

// Ends the valid certificates that the present authority has not issued: their state becomes
// REPLACED. Their holders could otherwise still call over connections that are open, and renew.
// Returns their number.
int EndFormerCertificates(const security::Certificate& present, absl::Time wall, AccessState* state,
                          AccessChanges* changes);

// Returns a line for each certificate, at most 20, and one with the number of the others.
std::string Describe(const std::vector<FormerCertificate>& former);

}  // namespace accel::coordinator
