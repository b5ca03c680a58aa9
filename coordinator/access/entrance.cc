#include "coordinator/access/entrance.h"

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

}  // namespace

absl::StatusOr<Caller> Entrance::Decide(const grpc::ServerContextBase& context, Method method) {
  ACCEL_ASSIGN_OR_RETURN(const Caller caller, options_.identify(context));
  ACCEL_RETURN_IF_ERROR(CheckAccess(caller, method));
  if (options_.on_valid_call == nullptr) return caller;
  options_.on_valid_call(context.peer(), caller.serial);
  // A credential that was revoked meanwhile was cut before this connection was filed under it.
  return options_.identify(context);
}

absl::StatusOr<Caller> Entrance::Admit(grpc::ServerContextBase& context, Method method) {
  absl::StatusOr<Caller> caller = Decide(context, method);
  if (caller.ok()) {
    absl::MutexLock lock(&mutex_);
    if (!caller->serial.empty() && !authorities_.empty()) {
      context.AddTrailingMetadata(security::kAuthoritiesKey, authorities_);
    }
    return caller;
  }
  const std::string why(caller.status().message());
  options_.log->Warn("refused a call", context.peer(), why);
  WriteRefusal(options_.identify(context), context.peer(), NameOf(method), why);
  return caller;
}

void Entrance::SetAuthorities(std::string name) {
  absl::MutexLock lock(&mutex_);
  authorities_ = std::move(name);
}

void Entrance::NoteRefusal(const std::string& peer, absl::string_view object,
                           const absl::Status& why) {
  WriteRefusal(why, peer, object, std::string(why.message()));
}

void Entrance::WriteRefusal(const absl::StatusOr<Caller>& caller, const std::string& peer,
                            absl::string_view object, const std::string& why) {
  if (options_.audit == nullptr) return;
  options_.audit->WriteRefusal({.caller = caller.ok() ? *caller : Caller(),
                                .is_known = caller.ok(),
                                .peer = peer,
                                .action = "refuse",
                                .object = std::string(object),
                                .result = why});
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
