// The rotation of a cluster's authority, as its clients see it (docs/decisions/0079). While it
// lasts, a cluster has two authorities. Pure.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "security/certificate.h"
#include "security/client_identity.h"

namespace accel::security {

// The key of the metadata at the end of each call with a certificate, with NameOfAuthorities() of
// the coordinator's authorities as its value.
inline constexpr char kAuthoritiesKey[] = "accel-authorities";

// Returns a name for a list of authorities in PEM, 64 hexadecimal digits. It is the same only for
// the same text.
std::string NameOfAuthorities(absl::string_view authorities);

// Returns true if `authority` has signed the certificate of a client.
bool IsIssuedBy(const Certificate& certificate, const Certificate& authority);

// Returns true if the coordinator, which has named its authorities, would now give the client
// another list of authorities, or a certificate of another one. The first of a list issues all
// certificates. False if `named` is empty, because a coordinator of an earlier version names none.
bool IsOutdated(const ClientIdentity& identity, absl::string_view named);

// Returns true if the certificate, in PEM, was issued by the first of these authorities.
bool IsOfFirst(absl::string_view certificate, absl::string_view authorities);

// Returns true if the certificate, in PEM, was issued by one of these authorities that is not the
// first. A rotation replaces such an authority.
bool IsOfFormer(absl::string_view certificate, absl::string_view authorities);

// Returns a sentence about a connection that failed with this error of gRPC, if the client has
// refused the server's certificate. Otherwise returns an empty text. `server` names the server, and
// `remedy` says what to do after a rotation, for example "run: accel login". The sentence has the
// time `now` of this machine's clock, which may be wrong.
std::string ExplainForeignServer(absl::string_view error, absl::string_view server,
                                 absl::string_view remedy, absl::Time now);

}  // namespace accel::security
