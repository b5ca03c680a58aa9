// The credentials of the cluster as handlers ask for them: a copy of the committed access state,
// which the coordinator's loop keeps up to date.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "coordinator/core/access/access_state.h"

namespace accel::coordinator {

// Whom a certificate stands for.
struct Holder {
  v1::MemberKind kind = v1::NODE_MEMBER;
  std::string member;                   // A node's id or a user's name.
  v1::UserRole role = v1::VIEWER_ROLE;  // Of a user.
  std::string runs_as;                  // Of a user.
};

// Thread-safe.
class StoredCredentials {
 public:
  struct Callbacks {
    // A credential is used for the first time, or for the first time in an hour.
    std::function<void(const std::string& serial)> on_seen;
    // A credential is no longer valid, so its connections must be cut.
    std::function<void(const std::string& serial)> on_refused;
  };

  // Sets the callbacks. Called once, before the first connection is accepted. They run on the
  // thread that calls Find() or Apply(), and must not block.
  void SetCallbacks(Callbacks callbacks);

  // Takes over committed changes: CoordinatorLoop::Options::on_access.
  void Apply(const AccessState& state, const AccessChanges& changes);

  // Returns the holder of the certificate with this serial. Never waits for the disk.
  // UNAUTHENTICATED: it is unknown, revoked, replaced or expired; the message says which, and what
  // its holder must do. `wall` is the time that people read.
  absl::StatusOr<Holder> Find(const std::string& serial, absl::Time wall);

 private:
  struct Entry {
    v1::Credential credential;                // Without the certificate.
    absl::Time noted = absl::InfinitePast();  // When on_seen was called last.
  };

  absl::Mutex mutex_;
  Callbacks callbacks_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);  // By serial.
  std::map<MemberId, v1::Member> members_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace accel::coordinator
