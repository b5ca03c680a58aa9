// One line of the audit log. Pure.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "coordinator/access/caller.h"

namespace accel::coordinator {

// An act of a caller, or a refusal. No field may contain a secret.
struct AuditEntry {
  Caller caller;             // Meaningless if `is_known` is false.
  bool is_known = true;      // True if the caller was identified.
  std::string peer;          // The address as gRPC writes it: "ipv4:10.0.0.1:4711", or "unix:".
  absl::string_view action;  // What: "submit", "cancel", "drain", "enrol", "revoke", "refuse" ...
  std::string object;        // The job, node, user or method.
  std::string result;        // "ok", or the error.
};

// Maximum size in a line of a text from outside. A longer text is cut.
inline constexpr size_t kMaxAuditText = 256;

// Returns a JSON object in one line, with a line feed.
std::string AuditLine(const AuditEntry& entry, absl::Time wall);

}  // namespace accel::coordinator
