#include "coordinator/access/audit_line.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace accel::coordinator {
namespace {

absl::string_view KindOf(const AuditEntry& entry) {
  if (!entry.is_known) return "unknown";
  switch (entry.caller.kind) {
    case CallerKind::kOwner:
      return "owner";
    case CallerKind::kUser:
      return "user";
    case CallerKind::kNode:
      return "node";
  }
  return "unknown";
}

std::string Bounded(absl::string_view text) { return std::string(text.substr(0, kMaxAuditText)); }

}  // namespace

std::string AuditLine(const AuditEntry& entry, absl::Time wall) {
  nlohmann::ordered_json line;
  line["time"] = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", wall, absl::UTCTimeZone());
  line["action"] = std::string(entry.action);
  line["object"] = Bounded(entry.object);
  line["caller"] = std::string(KindOf(entry));
  if (entry.is_known) line["name"] = Bounded(entry.caller.name);
  if (!entry.caller.serial.empty()) line["serial"] = Bounded(entry.caller.serial);
  line["peer"] = Bounded(entry.peer);
  line["result"] = Bounded(entry.result);
  // Bytes that are not UTF-8, for example those of a text that was cut, are replaced.
  return absl::StrCat(
      line.dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::ordered_json::error_handler_t::replace),
      "\n");
}

}  // namespace accel::coordinator
