// The connections that exist, their states, and the decision which of them may continue. The gate's
// shell (coordinator/gate/gate.h) accepts, reads and closes connections.
//
// clang-format off
//                      first record            place free              valid call
//   Accept() ─▶ SILENT ────────────▶ PARKED ────────────▶ PENDING ────────────────▶ OPEN
//                  │ 5 s                │ 30 s               │ 5 s                   │
//                  └────────────────────┴── Expire() ────────┴──── Closed(), Cut() ──┘
// clang-format on
//
// An enrolment goes through the same states, and is PENDING until it ends. A connection over the
// Unix socket is OPEN from the start, because the kernel has named its user.
//
// The queue of parked connections is fair over sources: the sources get places in turn. Otherwise a
// source with a thousand connections would delay every other source by a thousand handshakes.
//
// When there are too many connections, one of a stranger is closed. The first choice is the oldest
// silent one, if it has been silent for more than a round trip. An honest client sends its first
// record sooner. The second choice is the newest parked one of the source with the most.
// Connections of known sources are closed last (docs/decisions/0051).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "coordinator/gate/core/gate_limits.h"
#include "coordinator/gate/core/known_sources.h"
#include "coordinator/gate/core/source_queue.h"

namespace accel::coordinator {

using ConnectionId = uint64_t;  // Newer connections have higher ids.

// Counts of connections since the start.
struct GateCounts {
  int64_t accepted = 0;
  int64_t refused = 0;  // Not accepted, because a bound was reached and no other could be evicted.
  int64_t evicted = 0;  // Closed to make room for a newer one.
  int64_t expired = 0;  // Closed because the time in SILENT, PARKED or PENDING was over.
  int64_t unknown = 0;  // Closed because their first bytes belong to no protocol.
  int64_t opened = 0;   // Made a valid call.

  friend bool operator==(const GateCounts&, const GateCounts&) = default;
};

// Not thread-safe.
class GateState {
 public:
  explicit GateState(GateLimits limits) : limits_(limits), known_(limits.known_sources) {}

  struct Admission {
    bool admitted = false;
    std::optional<ConnectionId> evicted;  // Already removed. The caller must close it.
  };
  // Adds a silent connection from `source`. If `crowded` is set, descriptors are short, so another
  // connection must be closed for it.
  Admission Accept(ConnectionId id, const std::string& source, bool crowded, absl::Time now);
  // Adds an open connection. It ignores the limit on open connections, because the owner of the
  // coordinator must always be able to act.
  Admission AcceptOpen(ConnectionId id, bool crowded, absl::Time now);

  // Removes and returns a silent or parked connection, which the caller must close, because
  // descriptors are short. nullopt if there is no such connection.
  std::optional<ConnectionId> Evict(absl::Time now);
  // Notes that the first record of a silent connection is complete. The connection becomes PARKED.
  void Park(ConnectionId id, bool enrols, absl::Time now);
  // Removes a silent connection whose first bytes belong to no protocol.
  void Reject(ConnectionId id);
  // Moves parked connections to PENDING while there are places, and returns them in order.
  struct Released {
    ConnectionId id;
    bool enrols;
  };
  std::vector<Released> Release(absl::Time now);
  // Notes that a pending or open connection has made a valid call with the credential of this
  // serial. If it was pending, it becomes OPEN, and its source is remembered. Returns true if this
  // has freed a place.
  bool Authenticated(ConnectionId id, const std::string& serial);
  // Removes a connection that has ended.
  void Closed(ConnectionId id);
  // Removes and returns the connections whose time is over, at most 256. The remaining ones follow
  // at the next call, which is then due immediately.
  std::vector<ConnectionId> Expire(absl::Time now);
  // Returns the open connections of this credential.
  std::vector<ConnectionId> OfSerial(const std::string& serial) const;
  // Returns the serial of the credential with which this connection has made a valid call. Empty if
  // it has made no valid call, or has ended.
  std::string SerialOf(ConnectionId id) const;

  // Returns when Expire() must be called next.
  absl::Time next_deadline() const;
  const GateCounts& counts() const { return counts_; }
  int size() const { return static_cast<int>(connections_.size()); }

 private:
  enum class Phase { kSilent, kParked, kPending, kOpen };
  struct Connection {
    std::string source;
    Phase phase = Phase::kSilent;
    bool enrols = false;
    bool known = false;  // True if its source is known. Fixed from PARKED on.
    std::string serial;
    absl::Time deadline = absl::InfiniteFuture();
  };

  int Waiting() const;
  bool MayOpen() const;
  Admission MakeRoom(bool crowded, absl::Time now);
  std::optional<ConnectionId> ChooseVictim(absl::Time now) const;
  void Remove(ConnectionId id);
  void SetDeadline(ConnectionId id, Connection* connection, absl::Time deadline);
  void LeavePhase(ConnectionId id, const Connection& connection);
  std::set<ConnectionId>* SilentOf(const Connection& connection);
  SourceQueue* QueueOf(const Connection& connection);
  void ReleaseFrom(SourceQueue* queue, int places, int* taken, absl::Time now,
                   std::vector<Released>* released);

  const GateLimits limits_;
  KnownSources known_;
  absl::flat_hash_map<ConnectionId, Connection> connections_;
  absl::flat_hash_map<std::string, int> per_source_;
  absl::flat_hash_map<std::string, int> pending_per_source_;
  std::map<std::string, std::set<ConnectionId>> by_serial_;
  // Silent connections, the oldest first.
  std::set<ConnectionId> silent_strangers_;
  std::set<ConnectionId> silent_friends_;
  SourceQueue strangers_;
  SourceQueue friends_;  // Parked connections of known sources.
  SourceQueue enrolments_;
  int pending_strangers_ = 0;
  int pending_known_ = 0;
  int enrolling_ = 0;
  std::set<std::pair<absl::Time, ConnectionId>> deadlines_;
  GateCounts counts_;
};

}  // namespace accel::coordinator
