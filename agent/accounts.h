// The accounts of this node's user database. A lookup may ask a server (LDAP) and take long. Each
// lookup therefore has its own thread, and the agent's loop never waits for one.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/core/account_rules.h"
#include "common/clock.h"
#include "common/wake_fd.h"
#include "process/account.h"

namespace accel::agent {

// Looks an account up in the user database. Returns nullopt if there is none. UNAVAILABLE: the
// database does not answer. Blocks.
absl::StatusOr<std::optional<process::Account>> LookUpAccount(const std::string& name);

// Returns the name of the account of this process, or its uid if it has none.
std::string OwnAccount();

// Returns the text of /etc/login.defs, or "" if there is none.
std::string ReadLoginDefs();

// Not thread-safe: the thread of the agent's loop makes all calls. No call blocks.
class Accounts {
 public:
  using LookUp = std::function<absl::StatusOr<std::optional<process::Account>>(const std::string&)>;

  struct Options {
    AccountRules rules;
    // Runs on other threads, also after this object is gone. Tests replace it.
    LookUp look_up = LookUpAccount;
    common::Clock* clock = nullptr;
    absl::Duration timeout = absl::Seconds(5);    // Maximum time for a lookup.
    absl::Duration lifetime = absl::Seconds(60);  // How long a found account counts.
    // How long the answer counts that there is no such account, or that the database does not
    // answer. Short, because a user database that is starting may report existing names as missing.
    absl::Duration failure_lifetime = absl::Seconds(1);
    // Pause before a name is looked up again after an answer that has no account.
    absl::Duration second_look = absl::Milliseconds(500);
  };

  explicit Accounts(Options options);

  // Takes the answers that have arrived. Gives up lookups that have taken longer than `timeout`.
  // wake_fd() is not readable afterwards, and wake_at() is in the future.
  void Update();

  // Returns true if Find() has an answer that still counts. Otherwise begins a lookup, unless
  // one is in progress, and returns false. Once the lookup ends, wake_fd() is readable. An
  // account that is reported as missing is looked up twice, because a database that is starting
  // may report it wrongly. Returns true if too many lookups are in progress to begin one; Find()
  // then returns UNAVAILABLE.
  bool IsKnown(const std::string& runs_as);

  // Returns true if Find() has an answer, even one that no longer counts. An old answer is enough
  // for a relay that is in progress, but not for a new job.
  bool HasAnswer(const std::string& runs_as) const;

  // Returns the account as which a job with this JobSpec.runs_as runs here, or nullopt if it runs
  // as the agent itself. INVALID_ARGUMENT: see CheckAccount(). UNAVAILABLE: the user database does
  // not answer, or has not answered yet.
  absl::StatusOr<std::optional<process::Account>> Find(const std::string& runs_as);

  // Readable when a lookup has ended, until Update() is called.
  int wake_fd() const { return shared_->wake.get(); }
  // Returns the time at which the oldest lookup in progress will have taken too long.
  absl::Time wake_at() const;

 private:
  using Answer = absl::StatusOr<std::optional<process::Account>>;

  // The state that the lookup threads share with this object. These threads may outlive it, because
  // a lookup in a database that hangs may never return.
  struct Shared {
    common::WakeFd wake;
    absl::Mutex mutex;
    std::map<std::string, Answer> answers ABSL_GUARDED_BY(mutex);
  };
  struct Entry {
    absl::Time begun;
    bool is_pending = true;                        // It is being looked up.
    absl::Time known_at = absl::InfiniteFuture();  // Infinite while there is no answer.
    Answer answer = std::optional<process::Account>();
  };

  void Begin(const std::string& name);
  bool IsFresh(const Entry& entry) const;

  const Options options_;
  const std::shared_ptr<Shared> shared_;  // Shared with the lookup threads.
  std::map<std::string, Entry> entries_;
};

}  // namespace accel::agent
