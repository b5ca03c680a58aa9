// The epoll loop between sockets and sessions.
#pragma once

#include <sys/epoll.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "common/unique_fd.h"
#include "rendezvous/core/byte_buffer.h"
#include "rendezvous/core/memory_budget.h"
#include "rendezvous/core/session.h"
#include "rendezvous/core/store_state.h"
#include "rendezvous/peer_filter.h"
#include "rendezvous/server_counters.h"

namespace accel::rendezvous {

// Everything runs on the thread that calls Run(). A connection's descriptor is its id.
//
// Sockets are watched edge-triggered, so that a served request costs epoll_wait, recv and send and
// nothing else. A client that does not take its answers is not read from until it does.
class ServerLoop {
 public:
  struct Options {
    common::UniqueFd listen_socket;  // Listening, non-blocking.
    common::UniqueFd wake;           // Readable: Run() is to return.
    PeerFilter peers;
    size_t memory_limit_bytes;
    size_t max_connections;
  };

  ServerLoop(Options options, ServerCounters* counters);

  // An error of epoll at the start, otherwise OK.
  absl::Status Watch();
  // Serves until told to return. After Watch().
  void Run();
  // One turn of it: waits until something is to be done, and does a bounded part of it. False once
  // Run() is to return.
  bool RunOnce();

  // Connections taken in one turn: a flood of them leaves time for those that are being served.
  static constexpr int kAcceptsPerTurn = 64;

 private:
  struct Connection {
    Connection(common::UniqueFd socket, ServerLoop* loop);

    common::UniqueFd fd;
    Session session;
    ByteBuffer unsent;
    size_t sent = 0;        // Of `unsent`.
    bool readable = false;  // More may be there to read than has been read.
    bool in_again = false;  // In again_.
    bool ending = false;    // The peer has sent its last byte: read until end of file.
    bool doomed = false;    // To be destroyed once the current events are dealt with.
  };

  absl::Status WatchFd(int fd, uint32_t events);
  int WaitMilliseconds() const;
  Connection* Find(int fd);
  void Accept();
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

  const Options options_;
  const WireLimits limits_;
  ServerCounters* const counters_;
  common::UniqueFd epoll_;
  MemoryBudget budget_;
  StoreState state_;

  std::unique_ptr<char[]> scratch_;  // What arrives lands here; untouched pages cost nothing.
  ByteBuffer reply_;                 // To the connection being read.
  std::vector<ConnectionId> woken_;

  std::vector<std::unique_ptr<Connection>> connections_;  // By descriptor.
  size_t num_connections_ = 0;
  std::vector<Connection*> again_;  // Had its turn, has more to read.
  std::vector<Connection*> doomed_;
  enum class Backlog {
    kEmpty,    // An event says when there is a connection again.
    kMore,     // This turn's share has been taken.
    kStalled,  // No descriptor or memory for the next connection: tried again after a while.
  } backlog_ = Backlog::kEmpty;
};

}  // namespace accel::rendezvous
