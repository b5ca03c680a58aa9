#include "coordinator/acceptor.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/clock.h"
#include "common/log.h"

namespace accel::coordinator {
namespace {

constexpr int kReserve = 64;
constexpr int kMaxConnections = 32'768;
// Maximum number of connections accepted from one listener before the others get their turn.
constexpr int kMaxAtOnce = 64;
// Pause before the next accept() when the machine or this process has no free descriptor or memory.
constexpr int kPauseMillis = 100;
// A peer whose machine is gone is detected within the sum of these two. The kernel probes it, and
// not gRPC, because gRPC would set a timer again with each message of each connection.
constexpr int kKeepaliveSeconds = 10;
constexpr int kKeepaliveTimeoutSeconds = 5;

void Set(int fd, int level, int option, int value) {
  setsockopt(fd, level, option, &value, sizeof(value));
}

void SetOptions(int fd) {
  Set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  Set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  Set(fd, IPPROTO_TCP, TCP_KEEPIDLE, kKeepaliveSeconds);
  Set(fd, IPPROTO_TCP, TCP_KEEPINTVL, kKeepaliveTimeoutSeconds);
  Set(fd, IPPROTO_TCP, TCP_KEEPCNT, 1);
  // The same for a peer that does not acknowledge what was sent to it.
  Set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 1000 * (kKeepaliveSeconds + kKeepaliveTimeoutSeconds));
}

}  // namespace

int FirstRefusedDescriptor(int limit) {
  return std::min(limit - std::min(kReserve, limit / 4), kMaxConnections);
}

Acceptor::Acceptor(std::vector<common::UniqueFd> listeners, int first_refused,
                   OnConnection on_connection)
    : listeners_(std::move(listeners)),
      first_refused_(first_refused),
      on_connection_(std::move(on_connection)),
      thread_([this] { Run(); }) {}

Acceptor::~Acceptor() {
  stop_.Wake();
  thread_.join();
}

void Acceptor::Run() {
  std::vector<pollfd> watched{{stop_.get(), POLLIN, 0}};
  for (const common::UniqueFd& listener : listeners_)
    watched.push_back({listener.get(), POLLIN, 0});
  bool room = true;
  while (true) {
    // Without room, only the stop request is polled. Connections wait in the kernel's queue.
    poll(watched.data(), room ? watched.size() : 1, room ? -1 : kPauseMillis);
    if (watched[0].revents != 0) return;
    room = true;
    for (size_t i = 1; i < watched.size() && room; ++i) {
      Outcome outcome = Outcome::kMayBeMore;
      for (int n = 0; n < kMaxAtOnce && outcome == Outcome::kMayBeMore; ++n) {
        outcome = AcceptOne(watched[i].fd);
      }
      room = outcome != Outcome::kNoRoom;
    }
  }
}

Acceptor::Outcome Acceptor::AcceptOne(int listener) {
  common::UniqueFd fd(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!fd.valid()) {
    if (errno == EAGAIN) return Outcome::kNoneWaits;
    if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) {
      return Outcome::kMayBeMore;  // The client closed the connection before it was accepted.
    }
    LogRefusal("no free descriptor or memory for another connection, retrying");
    return Outcome::kNoRoom;
  }
  if (fd.get() >= first_refused_) {
    LogRefusal("refused a connection because too many are open");
    return Outcome::kMayBeMore;
  }
  SetOptions(fd.get());
  on_connection_(std::move(fd));
  return Outcome::kMayBeMore;
}

void Acceptor::LogRefusal(const char* why) {
  const auto others = refusals_.Admit(common::SteadyClock()->Now());
  if (!others.has_value()) return;
  common::LogWarning(why, {{"open_at_most", first_refused_},
                           {"others_since", *others},
                           {"do", "raise the limit on open files (ulimit -Hn, LimitNOFILE)"}});
}

}  // namespace accel::coordinator
