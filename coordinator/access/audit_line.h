// One line of the audit log. Pure.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "coordinator/access/caller.h"

namespace accel::coordinator {

// What a caller did, or was refused. No field may have a secret.
struct AuditEntry {
  Caller caller;             // Who. Meaningless if `is_known` is false.
  bool is_known = true;      // The caller was established.
  std::string peer;          // Where from, as gRPC writes it: "ipv4:10.0.0.1:4711", or "unix:".
  absl::string_view action;  // What: "submit", "cancel", "drain", "enrol", "revoke", "refuse" ...
  std::string object;        // The job, node, user or method.
  std::string result;        // "ok", or why not.
};

// Maximum size of a text from outside in a line. Longer ones are cut.
inline constexpr size_t kMaxAuditText = 256;

// Returns a JSON object in one line, with a line feed.
std::string AuditLine(const AuditEntry& entry, absl::Time wall);

}  // namespace accel::coordinator
