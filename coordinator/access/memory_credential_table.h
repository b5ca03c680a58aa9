// A table of credentials in memory, for tests.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "coordinator/access/credential_table.h"

namespace accel::coordinator {

// Thread-safe.
class MemoryCredentialTable final : public CredentialTable {
 public:
  // Adds a credential, or replaces the one with this serial, for example by one with another role.
  void Put(Caller caller) {
    absl::MutexLock lock(&mutex_);
    std::string serial = caller.serial;
    callers_.insert_or_assign(std::move(serial), std::move(caller));
  }

  void Revoke(const std::string& serial) {
    absl::MutexLock lock(&mutex_);
    callers_.insert_or_assign(serial, Revoked());
  }

  std::optional<Caller> HolderOf(const std::string& serial) const override {
    const absl::StatusOr<Caller> caller = Find(serial);
    return caller.ok() ? std::optional(*caller) : std::nullopt;
  }

  // Returns the caller with this serial. The table has no certificates, so any certificate matches.
  absl::StatusOr<Caller> Find(const std::string& serial,
                              absl::string_view /*certificate*/ = "") const override {
    absl::MutexLock lock(&mutex_);
    const auto found = callers_.find(serial);
    if (found != callers_.end()) return found->second;
    return absl::UnauthenticatedError(
        absl::StrCat("this cluster knows no certificate with the serial ", serial));
  }

 private:
  static absl::Status Revoked() {
    return absl::UnauthenticatedError("the certificate was revoked; ask for a new one");
  }

  mutable absl::Mutex mutex_;
  std::map<std::string, absl::StatusOr<Caller>> callers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace accel::coordinator
