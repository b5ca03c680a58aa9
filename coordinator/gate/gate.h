// The coordinator's own gate, in front of gRPC. It accepts all connections. gRPC receives a TCP
// connection only after its first TLS record is complete, and receives a few at a time, in a fair
// order. A TCP connection that makes no valid call in time is cut. The rules are in
// coordinator/gate/core/gate_state.h (docs/decisions/0051).
//
// gRPC's own acceptor is not used, because it stops forever when accept() first finds no free
// descriptor (gRPC 1.51; docs/decisions/0022).
//
// The gate keeps a duplicate of each descriptor. gRPC ends a connection with shutdown(), which
// epoll reports on the duplicate, so the count of connections is right. The gate ends a connection
// that gRPC has by calling shutdown() on the duplicate.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/unique_fd.h"
#include "common/wake_fd.h"
#include "coordinator/gate/core/gate_state.h"
#include "coordinator/gate/gate_log.h"

namespace accel::coordinator {

// Thread-safe.
class Gate {
 public:
  using Receiver = std::function<void(common::UniqueFd)>;

  struct Options {
    std::vector<common::UniqueFd> tcp;    // Listening, non-blocking.
    std::vector<common::UniqueFd> local;  // Unix sockets, listening, non-blocking.
    GateLimits limits = {};
    // The first descriptor number of the reserve. A connection with this number or a higher one is
    // kept only if another connection is closed for it. accept() returns the lowest free number, so
    // all lower numbers are then in use.
    int first_crowded = 0;
    uid_t owner = 0;  // The user who may use the Unix sockets. Root may too.
    // The receivers of non-blocking connections. They run on the gate's thread, and must not block.
    Receiver on_tcp;
    Receiver on_local;
    // Receives connections whose next bytes are "ACCELEN1". It must call shutdown() before it
    // closes a connection, because the gate detects the end only by shutdown(). If null, such
    // connections are rejected.
    Receiver on_enrolment;
  };

  explicit Gate(Options options);
  ~Gate();  // Calls Stop().

  // Starts to accept, on a separate thread.
  void Start();
  // Stops accepting. No receiver is called after this. Connections that a receiver
  // has continue. Idempotent.
  void Stop();

  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Notes that the connection of gRPC's `peer` (ServerContext::peer()) has made a valid call with
  // the credential of this serial. It is cheap enough for each call. Has no effect
  // for Unix sockets.
  void Authenticated(const std::string& peer, const std::string& serial);

  // Ends all connections that have made a valid call with the credential of this serial.
  void Cut(const std::string& serial);

  // Ends the connection of gRPC's `peer`. Returns the serial of the credential with which it has
  // made a valid call, or an empty text if it has made none. nullopt if there is no such
  // connection.
  std::optional<std::string> CutPeer(const std::string& peer);

  GateCounts counts();

 private:
  struct Connection {
    common::UniqueFd fd;
    std::string key;  // PeerAddress::key. Empty for Unix sockets.
    bool handed_over = false;
  };
  enum class Outcome { kNoneWaits, kMayBeMore, kNoRoom };

  void Run();
  int TimeoutMillis();
  void ListenAgain(bool listen);
  void AcceptFrom(size_t listener);
  Outcome AcceptOne(size_t listener);
  void Admit(common::UniqueFd fd, const sockaddr_storage& address, absl::Time now);
  void AdmitLocal(common::UniqueFd fd, absl::Time now);
  void OnEvent(ConnectionId id, uint32_t events);
  void ReadFirstRecord(ConnectionId id, int fd) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Watch(ConnectionId id, int fd, uint32_t events, int operation);
  void Erase(ConnectionId id, bool shut_down) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  common::UniqueFd DuplicateWithRoom(int fd, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ExpireAndHandOver();

  const Options options_;
  std::vector<int> listeners_;  // The TCP ones, and then the local ones.
  const common::UniqueFd epoll_;
  common::WakeFd wake_;
  // Used only by the thread.
  bool listening_ = true;
  absl::Time listen_again_ = absl::InfinitePast();
  ConnectionId next_id_;
  GateLog log_;

  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  GateState state_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<ConnectionId, Connection> connections_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, ConnectionId> by_key_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;
};

// Returns Options::first_crowded for a process that may open `limit` descriptors. The numbers from
// the result on remain free for the store, log files and gRPC.
int FirstCrowdedDescriptor(int limit);

}  // namespace accel::coordinator
