// The credentials of the cluster as handlers ask for them: a copy of the committed access state,
// which the coordinator's loop keeps up to date.
#pragma once

#include <functional>
#include <map>
#include <optional>
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
  // `wall` returns the time that people read.
  explicit StoredCredentials(std::function<absl::Time()> wall = absl::Now)
      : wall_(std::move(wall)) {}

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

  // See CredentialTable. A certificate that was replaced is refused too. The whole certificate is
  // compared, not its names alone, because a thief of the CA's key can write any name
  // (docs/decisions/0079).
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
  mutable std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);  // By serial.
  std::map<MemberId, v1::Member> members_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace accel::coordinator
