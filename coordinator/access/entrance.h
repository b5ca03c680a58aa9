// The one place where calls are admitted: who calls is established, and compared with the table of
// access, before a byte of the request is parsed.
#pragma once

#include <grpcpp/server_context.h>

#include <functional>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "common/clock.h"
#include "coordinator/access/access_table.h"
#include "coordinator/access/audit_log.h"
#include "coordinator/access/call_limits.h"
#include "coordinator/access/caller.h"
#include "coordinator/refusal_log.h"

namespace accel::coordinator {

// A call that was admitted.
struct Admission {
  Caller caller;
  CallPlace place;  // Must be kept until the call has ended.
};

// Thread-safe.
class Entrance {
 public:
  struct Options {
    // Establishes who calls. Errors are sent to the caller.
    std::function<absl::StatusOr<Caller>(const grpc::ServerContextBase&)> identify;
    // Receives the peer (ServerContext::peer()) and the credential's serial of each valid call. May
    // be null.
    std::function<void(const std::string& peer, const std::string& serial)> on_valid_call;
    common::Clock* clock = nullptr;
    RefusalLog* log = nullptr;
    AuditLog* audit = nullptr;  // May be null.
  };

  explicit Entrance(Options options) : options_(std::move(options)) {}

  // Returns who calls, and the place of the call. UNAUTHENTICATED: it is not known who calls.
  // PERMISSION_DENIED: he may not call this method. UNAVAILABLE: see CallLimits::Take(). Refusals
  // are logged.
  // A call with a certificate is answered with the name of the authorities as well.
  absl::StatusOr<Admission> Admit(grpc::ServerContextBase& context, Method method);

  // Sets the name of the coordinator's authorities (security/rotation.h), which tells clients when
  // to renew. By default it is empty, and is not sent.
  void SetAuthorities(std::string name);

  // Writes into the audit log what an admitted call has done. Of an error it writes the code only,
  // because the message may quote what the caller has sent.
  void Note(const Caller& caller, const std::string& peer, absl::string_view action,
            absl::string_view object, const absl::Status& result);
  // Writes that a stranger was refused something. Strangers cause any number of these: see
  // AuditLog::WriteRefusal().
  void NoteRefusal(const std::string& peer, absl::string_view object, const absl::Status& why);
  // Logs that the connection of `peer` was cut, and writes it into the audit log with the name of
  // its user or node. `caller` is nullopt if it is not known whose it was.
  void NoteCut(const std::optional<Caller>& caller, const std::string& peer,
               const std::string& why);

 private:
  void WriteRefusal(const absl::StatusOr<Caller>& caller, const std::string& peer,
                    absl::string_view object, const std::string& why);
  absl::StatusOr<Admission> Decide(const grpc::ServerContextBase& context, Method method);

  const Options options_;
  CallLimits limits_;
  absl::Mutex mutex_;
  std::string authorities_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace accel::coordinator
