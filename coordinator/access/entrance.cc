#include "coordinator/access/entrance.h"

#include <optional>
#include <utility>

#include "common/status_macros.h"
#include "security/rotation.h"

namespace accel::coordinator {
namespace {

absl::string_view NameOf(Method method) {
  for (const AccessRule& rule : AccessRules()) {
    if (rule.method == method) return rule.name;
  }
  return "unknown";
}

AuditEntry Refusal(const std::optional<Caller>& caller, const std::string& peer,
                   absl::string_view object, const std::string& why) {
  return {.caller = caller.value_or(Caller()),
          .is_known = caller.has_value(),
          .peer = peer,
          .action = "refuse",
          .object = std::string(object),
          .result = why};
}

}  // namespace

absl::StatusOr<Admission> Entrance::Decide(const grpc::ServerContextBase& context, Method method) {
  Admission admission;
  ACCEL_ASSIGN_OR_RETURN(admission.caller, options_.identify(context));
  ACCEL_ASSIGN_OR_RETURN(const AccessRule rule, CheckAccess(admission.caller, method));
  if (options_.on_valid_call != nullptr) {
    options_.on_valid_call(context.peer(), admission.caller.serial);
    // The caller is identified again, because its credential may have been revoked just before
    // on_valid_call() registered the connection under it. That revocation did not
    // cut the connection.
    ACCEL_ASSIGN_OR_RETURN(admission.caller, options_.identify(context));
  }
  ACCEL_ASSIGN_OR_RETURN(admission.place,
                         limits_.Take(admission.caller, rule, options_.clock->Now()));
  return admission;
}

absl::StatusOr<Admission> Entrance::Admit(grpc::ServerContextBase& context, Method method) {
  absl::StatusOr<Admission> admission = Decide(context, method);
  if (admission.ok()) {
    absl::MutexLock lock(&mutex_);
    if (!admission->caller.serial.empty() && !authorities_.empty()) {
      context.AddTrailingMetadata(security::kAuthoritiesKey, authorities_);
    }
    return admission;
  }
  const std::string why(admission.status().message());
  options_.log->Warn("refused a call", context.peer(), why);
  // The client retries such a call. It is not an attempt to do something forbidden.
  if (absl::IsUnavailable(admission.status())) return admission;
  WriteRefusal(options_.identify(context), context.peer(), NameOf(method), why);
  return admission;
}

void Entrance::SetAuthorities(std::string name) {
  absl::MutexLock lock(&mutex_);
  authorities_ = std::move(name);
}

void Entrance::NoteRefusal(const std::string& peer, absl::string_view object,
                           const absl::Status& why) {
  WriteRefusal(why, peer, object, std::string(why.message()));
}

void Entrance::NoteCut(const std::optional<Caller>& caller, const std::string& peer,
                       const std::string& why) {
  options_.log->Warn("cut a connection", peer, why);
  if (options_.audit == nullptr) return;
  options_.audit->WriteCut(Refusal(caller, peer, "connection", why));
}

void Entrance::WriteRefusal(const absl::StatusOr<Caller>& caller, const std::string& peer,
                            absl::string_view object, const std::string& why) {
  if (options_.audit == nullptr) return;
  options_.audit->WriteRefusal(
      Refusal(caller.ok() ? std::optional<Caller>(*caller) : std::nullopt, peer, object, why));
}

void Entrance::Note(const Caller& caller, const std::string& peer, absl::string_view action,
                    absl::string_view object, const absl::Status& result) {
  if (options_.audit == nullptr) return;
  options_.audit->Write({.caller = caller,
                         .is_known = true,
                         .peer = peer,
                         .action = action,
                         .object = std::string(object),
                         .result = result.ok() ? "ok" : absl::StatusCodeToString(result.code())});
}

}  // namespace accel::coordinator
