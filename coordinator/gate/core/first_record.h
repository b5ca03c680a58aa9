// Recognises the protocol of a connection by its first bytes, before gRPC or the enrolment receives
// the connection. No byte of an unknown protocol reaches either of them.
#pragma once

#include <cstddef>

#include "absl/strings/string_view.h"

namespace accel::coordinator {

// The protocols that the coordinator speaks over TCP.
enum class Protocol {
  kUnfinished,  // The first record is not complete yet.
  kTls,         // A complete TLS handshake record.
  kEnrolment,   // The eight bytes "ACCELEN1".
  kUnknown,     // Other bytes, or a first record that is too long.
};

// Maximum size of the first TLS record, with its header of five bytes.
inline constexpr size_t kMaxFirstRecord = 4096;

// Returns the protocol of a connection whose peer has sent `bytes` so far. Every prefix of a known
// protocol is kUnfinished.
Protocol Recognise(absl::string_view bytes);

}  // namespace accel::coordinator
