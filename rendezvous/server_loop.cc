#include "rendezvous/server_loop.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "rendezvous/core/reply_writer.h"

namespace accel::rendezvous {
namespace {

constexpr size_t kScratchBytes = 64 << 10;
// Maximum size of a reply buffer that is kept after use. A larger one is freed.
constexpr size_t kKeptReplyBytes = 16 << 10;
// Maximum number of reads from one connection before the others have their turn.
constexpr int kReadsPerTurn = 16;
constexpr int kEventsPerWait = 64;
constexpr int kAcceptRetryMs = 100;
constexpr uint32_t kConnectionEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

void Count(std::atomic<uint64_t>* counter) { counter->fetch_add(1, std::memory_order_relaxed); }

}  // namespace

ServerLoop::Connection::Connection(common::UniqueFd socket, ServerLoop* loop)
    : fd(std::move(socket)),
      session(static_cast<ConnectionId>(fd.get()), &loop->limits_, &loop->budget_, &loop->state_),
      unsent(&loop->budget_) {}

ServerLoop::ServerLoop(Options options, ServerCounters* counters)
    : options_(std::move(options)),
      counters_(counters),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      budget_(options_.memory_limit_bytes),
      state_(&budget_),
      scratch_(new char[kScratchBytes]),
      reply_(&budget_) {}

absl::Status ServerLoop::Watch() {
  if (!epoll_.valid()) return absl::ErrnoToStatus(errno, "epoll_create1");
  const absl::Status status = WatchFd(options_.wake.get(), EPOLLIN);
  return status.ok() ? WatchFd(options_.listen_socket.get(), EPOLLIN | EPOLLET) : status;
}

absl::Status ServerLoop::WatchFd(int fd, uint32_t events) {
  epoll_event event = {};
  event.events = events;
  event.data.fd = fd;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, "epoll_ctl");
}

int ServerLoop::WaitMilliseconds() const {
  if (!again_.empty() || backlog_ == Backlog::kMore) return 0;
  return backlog_ == Backlog::kStalled ? kAcceptRetryMs : -1;
}

void ServerLoop::Run() {
  while (RunOnce()) {
  }
}

bool ServerLoop::RunOnce() {
  epoll_event events[kEventsPerWait];
  const int count = epoll_wait(epoll_.get(), events, kEventsPerWait, WaitMilliseconds());
  bool accept = backlog_ != Backlog::kEmpty;
  for (int i = 0; i < count; ++i) {
    const int fd = events[i].data.fd;
    if (fd == options_.wake.get()) return false;
    if (fd == options_.listen_socket.get()) {
      accept = true;
    } else if (Connection* connection = Find(fd)) {
      OnEvent(connection, events[i].events);
    }
  }
  if (accept) Accept();
  ReadAgain();
  Bury();
  return true;
}

ServerLoop::Connection* ServerLoop::Find(int fd) {
  return static_cast<size_t>(fd) < connections_.size() ? connections_[fd].get() : nullptr;
}

void ServerLoop::Accept() {
  backlog_ = Backlog::kMore;
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    sockaddr_storage peer;
    socklen_t length = sizeof(peer);
    common::UniqueFd socket(accept4(options_.listen_socket.get(),
                                    reinterpret_cast<sockaddr*>(&peer), &length,
                                    SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.valid()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      // Without a free descriptor or memory, the connection waits in the backlog.
      backlog_ = errno == EAGAIN ? Backlog::kEmpty : Backlog::kStalled;
      return;
    }
    // The socket of a refused peer is closed at the end of this block. No byte was sent or read.
    const PeerUsers::Verdict verdict = Judge(peer, socket.get());
    if (verdict == PeerUsers::Verdict::kForeign) {
      Count(&counters_->refused_peers);
    } else if (verdict == PeerUsers::Verdict::kGone) {
      Count(&counters_->gone_before_accept);
    } else if (num_connections_ >= options_.max_connections) {
      Count(&counters_->refused_over_limit);
    } else {
      Admit(std::move(socket));
    }
  }
}

PeerUsers::Verdict ServerLoop::Judge(const sockaddr_storage& peer, int connection) {
  if (!options_.peers.Allows(peer)) return PeerUsers::Verdict::kForeign;
  if (!options_.users.has_value()) return PeerUsers::Verdict::kAdmitted;
  return options_.users->Judge(peer, connection);
}

void ServerLoop::Admit(common::UniqueFd socket) {
  const int fd = socket.get();
  if (!WatchFd(fd, kConnectionEvents).ok()) {
    Count(&counters_->refused_over_limit);
    return;
  }
  if (connections_.size() <= static_cast<size_t>(fd)) connections_.resize(fd + 1);
  connections_[fd] = std::make_unique<Connection>(std::move(socket), this);
  ++num_connections_;
  Count(&counters_->accepted);
}

void ServerLoop::OnEvent(Connection* connection, uint32_t events) {
  if (connection->doomed) return;
  if ((events & EPOLLOUT) != 0 && !connection->unsent.empty()) Flush(connection);
  if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) connection->ending = true;
  if ((events & EPOLLIN) != 0 || connection->ending) connection->readable = true;
  if (connection->readable) Read(connection);
}

void ServerLoop::Read(Connection* connection) {
  for (int turn = 0; turn < kReadsPerTurn; ++turn) {
    if (connection->doomed || !connection->unsent.empty() || !ReadOnce(connection)) return;
  }
  if (!std::exchange(connection->in_again, true)) again_.push_back(connection);
}

// Returns true if more should be read.
bool ServerLoop::ReadOnce(Connection* connection) {
  const auto target = connection->session.ReadTarget(absl::MakeSpan(scratch_.get(), kScratchBytes));
  if (!target.ok()) {
    Fail(connection, target.status());
    return false;
  }
  const ssize_t count = recv(connection->fd.get(), target->data(), target->size(), 0);
  if (count <= 0) {
    if (count < 0 && errno == EINTR) return true;
    if (count < 0 && errno == EAGAIN) {
      connection->readable = false;
    } else {
      OnEndOfStream(connection);
    }
    return false;
  }
  const absl::Status status = connection->session.Receive(
      absl::string_view(target->data(), static_cast<size_t>(count)), &reply_, &woken_);
  // The answers are sent first, because the wait of this connection may be among those
  // that are over.
  SendReply(connection);
  SendWakeUps();
  if (!status.ok()) {
    Fail(connection, status);
    return false;
  }
  // A short read means that nothing is left. An event will report further bytes.
  if (static_cast<size_t>(count) == target->size() || connection->ending) return true;
  connection->readable = false;
  return false;
}

void ServerLoop::OnEndOfStream(Connection* connection) {
  if (connection->session.mid_request()) Count(&counters_->closed_bad_request);
  Doom(connection);
}

void ServerLoop::SendReply(Connection* connection) {
  if (reply_.empty()) return;
  const size_t sent = TrySend(connection, reply_.view());
  if (sent < reply_.size() && !connection->doomed) {
    connection->unsent = std::move(reply_);
    connection->sent = sent;
  }
  reply_.Clear();
  if (reply_.capacity() > kKeptReplyBytes) reply_.Free();
}

void ServerLoop::SendWakeUps() {
  constexpr char kWakeUp = static_cast<char>(WaitResponse::kStopWaiting);
  for (const ConnectionId id : woken_) {
    Connection* connection = connections_[id].get();
    if (connection->doomed) continue;
    const absl::string_view bytes(&kWakeUp, 1);
    if (connection->unsent.empty() && TrySend(connection, bytes) == 1) continue;
    if (!connection->doomed && !connection->unsent.Append(bytes)) {
      Fail(connection, absl::ResourceExhaustedError("no room for a wake-up"));
    }
  }
  woken_.clear();
}

void ServerLoop::Flush(Connection* connection) {
  const absl::string_view rest = connection->unsent.view().substr(connection->sent);
  connection->sent += TrySend(connection, rest);
  if (connection->sent < connection->unsent.size()) return;
  connection->unsent.Free();
  connection->sent = 0;
}

// Sends until everything is sent or the socket is full. Only a full socket causes a later event.
// Returns the number of bytes sent. Dooms a connection that is broken.
size_t ServerLoop::TrySend(Connection* connection, absl::string_view bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t count =
        send(connection->fd.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count >= 0) {
      sent += static_cast<size_t>(count);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      Doom(connection);
      break;
    }
  }
  return sent;
}

void ServerLoop::Fail(Connection* connection, const absl::Status& status) {
  Count(absl::IsResourceExhausted(status) ? &counters_->closed_out_of_room
                                          : &counters_->closed_bad_request);
  Doom(connection);
}

// Marks the connection for destruction. Its descriptor remains open until the end of the turn,
// because other events of the turn may refer to it.
void ServerLoop::Doom(Connection* connection) {
  if (std::exchange(connection->doomed, true)) return;
  state_.Disconnect(static_cast<ConnectionId>(connection->fd.get()));
  doomed_.push_back(connection);
}

void ServerLoop::ReadAgain() {
  for (Connection* connection : std::exchange(again_, {})) {
    connection->in_again = false;
    Read(connection);
  }
}

void ServerLoop::Bury() {
  for (Connection* connection : doomed_) {
    const int fd = connection->fd.get();
    // Closing the descriptor is not enough, because a socket remains in the epoll set while any
    // descriptor of it is open. If another thread is starting a process, that process has a
    // duplicate until its exec.
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    connections_[fd].reset();
    --num_connections_;
    Count(&counters_->closed);
  }
  doomed_.clear();
}

}  // namespace accel::rendezvous
