// The accounts of this node's user database. A lookup may ask a server (LDAP), so each one has a
// thread of its own, and the agent's loop never waits for it.
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

// Looks an account up in the user database. nullopt if there is none. UNAVAILABLE: the database
// does not answer. Blocks.
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
    absl::Duration lifetime = absl::Seconds(60);  // How long an account counts.
    // How long it counts that there is none, or no answer. A user database may report a name that
    // it has as missing while it starts.
    absl::Duration failure_lifetime = absl::Seconds(1);
    absl::Duration second_look = absl::Milliseconds(500);  // The pause before it is asked again.
  };

  explicit Accounts(Options options);

  // Takes the answers that have arrived, and gives up lookups that take too long. wake_fd() is not
  // readable afterwards, and wake_at() is in the future.
  void Update();

  // Returns false while the account is being looked up; wake_fd() is readable afterwards. Find()
  // then has the answer. Begins the lookup if there is none. That an account is missing is asked
  // twice before it is believed. An account whose time is over is looked up again.
  bool IsKnown(const std::string& runs_as);

  // Returns true if Find() has an answer, perhaps one whose time is over. Such an answer is enough
  // for what runs already, and not for a new job.
  bool HasAnswer(const std::string& runs_as) const;

  // Returns the account as which a job with this JobSpec.runs_as runs here, or nullopt if it runs
  // as the agent itself. INVALID_ARGUMENT: see CheckAccount(). UNAVAILABLE: the user database does
  // not answer, or has not answered yet.
  absl::StatusOr<std::optional<process::Account>> Find(const std::string& runs_as);

  // Readable when a lookup has ended, until Update() is called.
  int wake_fd() const { return shared_->wake.get(); }
  // The time at which the oldest lookup in progress has taken too long.
  absl::Time wake_at() const;

 private:
  using Answer = absl::StatusOr<std::optional<process::Account>>;

  // What the threads that look up use. They may outlive this object, because a database that hangs
  // may never return.
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
  const std::shared_ptr<Shared> shared_;  // With the threads that look up.
  std::map<std::string, Entry> entries_;
};

}  // namespace accel::agent
