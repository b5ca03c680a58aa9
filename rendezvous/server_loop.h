// The epoll loop between sockets and sessions.
#pragma once

#include <sys/epoll.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "common/unique_fd.h"
#include "rendezvous/core/byte_buffer.h"
#include "rendezvous/core/memory_budget.h"
#include "rendezvous/core/session.h"
#include "rendezvous/core/store_state.h"
#include "rendezvous/peer_filter.h"
#include "rendezvous/peer_users.h"
#include "rendezvous/server_counters.h"

namespace accel::rendezvous {

// Not thread-safe: everything runs on the thread that calls Run(). The id of a connection
// is its descriptor.
//
// Sockets are watched edge-triggered, so a request costs only epoll_wait, recv and send. While a
// client does not read its answers, nothing more is read from it.
class ServerLoop {
 public:
  struct Options {
    common::UniqueFd listen_socket;  // Must be listening and non-blocking.
    common::UniqueFd wake;           // Run() returns once this is readable.
    PeerFilter peers;
    std::optional<PeerUsers> users;  // If unset, connections of all users are accepted.
    size_t memory_limit_bytes;
    size_t max_connections;
  };

  ServerLoop(Options options, ServerCounters* counters);

  // Starts to watch the sockets. An error has the status code of the errno that epoll has set.
  absl::Status Watch();
  // Serves until `wake` is readable. Watch() must have been called.
  void Run();
  // Runs one turn: waits until there is work, and performs a bounded part of it. Returns false if
  // `wake` is readable, so Run() must return.
  bool RunOnce();

  // Maximum number of connections that one turn accepts, so that a flood of new connections leaves
  // time for the others.
  static constexpr int kAcceptsPerTurn = 64;

 private:
  struct Connection {
    Connection(common::UniqueFd socket, ServerLoop* loop);

    common::UniqueFd fd;
    Session session;
    ByteBuffer unsent;
    size_t sent = 0;        // Number of bytes of `unsent` that have been sent.
    bool readable = false;  // There may be more to read.
    bool in_again = false;  // It is in again_.
    bool ending = false;    // The peer has sent its last byte. Reads continue until end of file.
    bool doomed = false;    // It is destroyed once the current events have been handled.
  };

  absl::Status WatchFd(int fd, uint32_t events);
  int WaitMilliseconds() const;
  Connection* Find(int fd);
  void Accept();
  PeerUsers::Verdict Judge(const sockaddr_storage& peer, int connection);
  void Admit(common::UniqueFd socket);
  void OnEvent(Connection* connection, uint32_t events);
  void Read(Connection* connection);
  bool ReadOnce(Connection* connection);
  void OnEndOfStream(Connection* connection);
  void SendReply(Connection* connection);
  void SendWakeUps();
  void Flush(Connection* connection);
  size_t TrySend(Connection* connection, absl::string_view bytes);
  void Fail(Connection* connection, const absl::Status& status);
  void Doom(Connection* connection);
  void ReadAgain();
  void Bury();

  Options options_;
  const WireLimits limits_;
  ServerCounters* const counters_;
  common::UniqueFd epoll_;
  MemoryBudget budget_;
  StoreState state_;

  std::unique_ptr<char[]> scratch_;  // Buffer for received bytes. Untouched pages cost nothing.
  ByteBuffer reply_;                 // The reply to the connection that is being read.
  std::vector<ConnectionId> woken_;

  std::vector<std::unique_ptr<Connection>> connections_;  // Indexed by descriptor.
  size_t num_connections_ = 0;
  std::vector<Connection*> again_;  // Connections that have had their turn and have more to read.
  std::vector<Connection*> doomed_;
  enum class Backlog {
    kEmpty,    // Empty. An event reports the next connection.
    kMore,     // This turn's share has been accepted.
    kStalled,  // No descriptor or memory for the next connection. accept() is retried later.
  } backlog_ = Backlog::kEmpty;
};

}  // namespace accel::rendezvous
