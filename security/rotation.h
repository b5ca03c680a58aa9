// The rotation of a cluster's authority, from the view of its clients (docs/decisions/0079). During
// a rotation the cluster has two authorities. Pure.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "security/certificate.h"
#include "security/client_identity.h"

namespace accel::security {

// The key of a coordinator's trailing metadata, in each call with a certificate. The value is
// NameOfAuthorities() of the coordinator's authorities.
inline constexpr char kAuthoritiesKey[] = "accel-authorities";

// Returns a name of 64 hexadecimal digits for a list of authorities in PEM. Two texts have the same
// name only if they are equal.
std::string NameOfAuthorities(absl::string_view authorities);

// Returns true if `authority` has signed `certificate`, which is a client's.
bool IsIssuedBy(const Certificate& certificate, const Certificate& authority);

// Returns true if a renewal would now give the client another list of authorities, or a certificate
// of another authority. `named` is the name that the coordinator has sent for its authorities. The
// first authority of a list issues all certificates. Returns false if `named` is empty, because
// coordinators of earlier versions send no name.
bool IsOutdated(const ClientIdentity& identity, absl::string_view named);

// Returns true if the first of these authorities has issued the certificate. Both texts are PEM.
bool IsOfFirst(absl::string_view certificate, absl::string_view authorities);

// Returns true if another of these authorities than the first has issued the certificate. A
// rotation is replacing that authority. Both texts are PEM.
bool IsOfFormer(absl::string_view certificate, absl::string_view authorities);

// Returns a sentence about a failed connection, if gRPC's `error` says that the client has refused
// the server's certificate. Otherwise returns "". `server` is the server's name in the sentence.
// `remedy` says what to do after a rotation, for example "run: accel login". The sentence contains
// `now`, the time of this machine's clock, because that clock may be wrong.
std::string ExplainForeignServer(absl::string_view error, absl::string_view server,
                                 absl::string_view remedy, absl::Time now);

}  // namespace accel::security
