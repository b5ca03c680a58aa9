// The one place where calls are admitted. It identifies the caller and compares it with the table
// of access, before a byte of the request is parsed.
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
    // Identifies the caller. Errors are sent to the caller.
    std::function<absl::StatusOr<Caller>(const grpc::ServerContextBase&)> identify;
    // Called for each valid call, with the peer (ServerContext::peer()) and the serial of the
    // credential. May be null.
    std::function<void(const std::string& peer, const std::string& serial)> on_valid_call;
    common::Clock* clock = nullptr;
    RefusalLog* log = nullptr;
    AuditLog* audit = nullptr;  // May be null.
  };

  explicit Entrance(Options options) : options_(std::move(options)) {}

  // Admits a call: returns its caller and its place. Refusals are logged. The answer to a call with
  // a certificate also gets the name of the authorities. Errors:
  //
  // * UNAUTHENTICATED: the caller is not known.
  // * PERMISSION_DENIED: the caller may not call this method.
  // * UNAVAILABLE: the caller has too many calls (CallLimits::Take()).
  absl::StatusOr<Admission> Admit(grpc::ServerContextBase& context, Method method);

  // Sets the name of the coordinator's authorities (security/rotation.h), from which clients learn
  // that they must renew. While the name is empty, which is the default, it is not sent.
  void SetAuthorities(std::string name);

  // Writes into the audit log what an admitted call has done. Of an error it writes only the code,
  // because the message may quote what the caller has sent.
  void Note(const Caller& caller, const std::string& peer, absl::string_view action,
            absl::string_view object, const absl::Status& result);
  // Writes into the audit log that a stranger was refused. Strangers can cause any number of
  // refusals: see AuditLog::WriteRefusal().
  void NoteRefusal(const std::string& peer, absl::string_view object, const absl::Status& why);
  // Logs that the connection of `peer` was cut, and writes it into the audit log with the name of
  // its user or node. `caller` is nullopt if the connection's user or node is not known.
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
