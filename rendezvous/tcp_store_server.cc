#include "rendezvous/tcp_store_server.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "rendezvous/peer_filter.h"
#include "rendezvous/peer_users.h"
#include "rendezvous/server_loop.h"

namespace accel::rendezvous {
namespace {

// Size of the thread's stack. It is enough because the loop's call stack is shallow and its
// frames are small.
constexpr size_t kStackBytes = 128 << 10;
constexpr size_t kMaxConnections = 65536;
// Number of descriptors left for the rest of the process, but at most half of the limit.
constexpr size_t kSpareDescriptors = 128;

size_t DefaultMaxConnections() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return kMaxConnections;
  }
  const size_t allowed = limit.rlim_cur;
  return std::min(kMaxConnections,
                  std::max(allowed - std::min(allowed, kSpareDescriptors), allowed / 2));
}

absl::Status PrepareListenSocket(int fd) {
  int listening = 0;
  socklen_t length = sizeof(listening);
  if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) != 0 || listening == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("descriptor ", fd, " is not a listening socket: make one with ListenOn"));
  }
  const int flags = fcntl(fd, F_GETFL);
  // Accepted sockets inherit the option.
  const int no_delay = 1;
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &no_delay, sizeof(no_delay)) != 0) {
    return absl::ErrnoToStatus(errno, "preparing the store's listening socket");
  }
  return absl::OkStatus();
}

void* RunLoop(void* loop) {
  static_cast<ServerLoop*>(loop)->Run();
  return nullptr;
}

}  // namespace

TcpStoreServer::TcpStoreServer() = default;
TcpStoreServer::~TcpStoreServer() { Stop(); }

absl::StatusOr<std::unique_ptr<TcpStoreServer>> TcpStoreServer::Start(Options options) {
  ACCEL_RETURN_IF_ERROR(PrepareListenSocket(options.listen_socket.get()));
  ACCEL_ASSIGN_OR_RETURN(auto peers, rendezvous::PeerFilter::Make(options.allowed_peers));
  common::UniqueFd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  common::UniqueFd loop_wake(fcntl(wake.get(), F_DUPFD_CLOEXEC, 0));
  if (!wake.valid() || !loop_wake.valid()) return absl::ErrnoToStatus(errno, "eventfd");

  absl::StatusOr<PeerUsers> users = PeerUsers::Make(options.listen_socket.get());
  std::unique_ptr<TcpStoreServer> server(new TcpStoreServer());
  server->wake_ = std::move(wake);
  auto loop = std::make_unique<ServerLoop>(
      ServerLoop::Options{
          .listen_socket = std::move(options.listen_socket),
          .wake = std::move(loop_wake),
          .peers = std::move(peers),
          .users = users.ok() ? std::make_optional(*std::move(users)) : std::nullopt,
          .memory_limit_bytes = options.memory_limit_bytes,
          .max_connections =
              options.max_connections > 0 ? options.max_connections : DefaultMaxConnections(),
      },
      &server->counters_);
  ACCEL_RETURN_IF_ERROR(loop->Watch());
  server->loop_ = std::move(loop);
  const absl::Status started = server->StartThread();
  if (!started.ok()) {
    server->loop_.reset();
    return started;
  }
  return server;
}

absl::Status TcpStoreServer::StartThread() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  // The thread starts with all signals blocked, because the process's other threads handle them.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&thread_, &attributes, RunLoop, loop_.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (error != 0) return absl::ErrnoToStatus(error, "starting the store's thread");
  pthread_setname_np(thread_, "tcp_store");
  return absl::OkStatus();
}

void TcpStoreServer::Stop() {
  if (loop_ == nullptr) return;
  eventfd_write(wake_.get(), 1);
  pthread_join(thread_, nullptr);
  loop_.reset();
}

}  // namespace accel::rendezvous
