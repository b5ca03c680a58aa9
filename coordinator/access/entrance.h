// The one place where calls are admitted: who calls is established, and compared with the table of
// access, before a byte of the request is parsed.
#pragma once

#include <grpcpp/server_context.h>

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/access/access_table.h"
#include "coordinator/access/audit_log.h"
#include "coordinator/access/caller.h"
#include "coordinator/refusal_log.h"

namespace accel::coordinator {

// Thread-safe.
class Entrance {
 public:
  struct Options {
    // Establishes who calls. Errors are sent to the caller.
    std::function<absl::StatusOr<Caller>(const grpc::ServerContextBase&)> identify;
    // Receives the peer (ServerContext::peer()) and the credential's serial of each valid call. May
    // be null.
    std::function<void(const std::string& peer, const std::string& serial)> on_valid_call;
    RefusalLog* log = nullptr;
    AuditLog* audit = nullptr;  // May be null.
  };

  explicit Entrance(Options options) : options_(std::move(options)) {}

  // Returns the caller. UNAUTHENTICATED: it is not known who calls. PERMISSION_DENIED: he may not
  // call this method. Refusals are logged.
  absl::StatusOr<Caller> Admit(const grpc::ServerContextBase& context, Method method);

  // Writes into the audit log what an admitted call has done. Of an error it writes the code only,
  // because the message may quote what the caller has sent.
  void Note(const Caller& caller, const std::string& peer, absl::string_view action,
            absl::string_view object, const absl::Status& result);
  // Writes that a stranger was refused something. Strangers cause any number of these: see
  // AuditLog::WriteRefusal().
  void NoteRefusal(const std::string& peer, absl::string_view object, const absl::Status& why);

 private:
  void WriteRefusal(const absl::StatusOr<Caller>& caller, const std::string& peer,
                    absl::string_view object, const std::string& why);
  absl::StatusOr<Caller> Decide(const grpc::ServerContextBase& context, Method method);

  const Options options_;
};

}  // namespace accel::coordinator
