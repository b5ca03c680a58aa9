// The table of credentials that handlers use: a copy of the committed access state. The
// coordinator's loop keeps it up to date.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "coordinator/access/credential_table.h"
#include "coordinator/core/access/access_state.h"

namespace accel::coordinator {

// Thread-safe.
class StoredCredentials final : public CredentialTable {
 public:
  // Makes an empty table. `wall` returns the time of the wall clock.
  explicit StoredCredentials(std::function<absl::Time()> wall = absl::Now)
      : wall_(std::move(wall)) {}

  struct Callbacks {
    // Called when a credential is used for the first time since the start or in an hour.
    std::function<void(const std::string& serial)> on_seen;
    // Called when a change has ended or forgotten a credential, so its connections must be cut. Not
    // called when a credential expires.
    std::function<void(const std::string& serial)> on_refused;
  };

  // Sets the callbacks, which must not be null. Called once, immediately after the server has
  // started. Calls and changes can arrive a moment before it. SetCallbacks() makes the callbacks
  // for those. The other callbacks run on the thread that calls Find() or Apply(), and must not
  // block.
  void SetCallbacks(Callbacks callbacks);

  // Copies committed changes into the table. CoordinatorLoop::Options::on_access calls it.
  void Apply(const AccessState& state, const AccessChanges& changes);

  // CredentialTable describes the functions. Find() compares the whole certificate, not only the
  // names in it, because a thief of the CA's key can write any name (docs/decisions/0079).
  absl::StatusOr<Caller> Find(const std::string& serial,
                              absl::string_view certificate) const override;
  std::optional<Caller> HolderOf(const std::string& serial) const override;

 private:
  struct Entry {
    v1::Credential credential;                // Without the certificate.
    std::string hash;                         // SHA-256 of the certificate in PEM.
    absl::Time noted = absl::InfinitePast();  // When on_seen was called last.
  };

  std::optional<Caller> HolderIn(const v1::Credential& credential) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::function<absl::Time()> wall_;
  mutable absl::Mutex mutex_;
  Callbacks callbacks_ ABSL_GUARDED_BY(mutex_);
  // The serials for which on_seen and on_refused must be called once they are set.
  mutable std::set<std::string> early_seen_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> early_refused_ ABSL_GUARDED_BY(mutex_);
  mutable std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);  // By serial.
  std::map<MemberId, v1::Member> members_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace accel::coordinator
