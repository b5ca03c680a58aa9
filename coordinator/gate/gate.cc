#include "coordinator/gate/gate.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "coordinator/gate/core/first_record.h"
#include "coordinator/gate/peer_address.h"
#include "coordinator/gate/peer_credentials.h"
#include "coordinator/gate/tcp_options.h"

namespace accel::coordinator {
namespace {

constexpr int kReserve = 256;
// Maximum number of connections accepted from one listener before the others get their turn.
constexpr int kMaxAtOnce = 1024;
// Pause before the next accept() when the machine or this process has no free descriptor or memory.
constexpr absl::Duration kPause = absl::Milliseconds(100);
constexpr int kMaxEvents = 256;
constexpr int kMaxTimeoutMillis = 3'600'000;
// The first id of a connection. epoll identifies what is ready by a number: 0 is wake_, then the
// listeners follow, then connections.
constexpr ConnectionId kFirstConnection = 1024;

absl::Time Now() { return common::SteadyClock()->Now(); }

common::UniqueFd MakeEpoll() {
  common::UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  ACCEL_CHECK(epoll.valid(), "the process has no file descriptor left to start with");
  return epoll;
}

std::vector<int> Numbers(const Gate::Options& options) {
  std::vector<int> numbers;
  for (const common::UniqueFd& fd : options.tcp) numbers.push_back(fd.get());
  for (const common::UniqueFd& fd : options.local) numbers.push_back(fd.get());
  return numbers;
}

// Returns another descriptor of the same connection, with the lowest number that is free.
common::UniqueFd Duplicate(int fd) { return common::UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

// Gives the descriptor a lower number if one is free. A descriptor that was made while all low
// numbers were in use has a number of the reserve. Without this call it would keep that number, and
// the next connection would get the number of the evicted one.
void MoveDown(common::UniqueFd* fd) {
  common::UniqueFd lower = Duplicate(fd->get());
  if (lower.valid() && lower.get() < fd->get()) *fd = std::move(lower);
}

}  // namespace

int FirstCrowdedDescriptor(int limit) { return limit - std::min(kReserve, limit / 4); }

Gate::Gate(Options options)
    : options_(std::move(options)),
      listeners_(Numbers(options_)),
      epoll_(MakeEpoll()),
      next_id_(kFirstConnection),
      state_(options_.limits) {
  for (const common::UniqueFd& fd : options_.tcp) SetTcpOptions(fd.get());
  Watch(0, wake_.get(), EPOLLIN, EPOLL_CTL_ADD);
  for (size_t i = 0; i < listeners_.size(); ++i) {
    Watch(i + 1, listeners_[i], EPOLLIN, EPOLL_CTL_ADD);
  }
}

Gate::~Gate() { Stop(); }

void Gate::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Gate::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  wake_.Wake();
  if (thread_.joinable()) thread_.join();
}

void Gate::Watch(ConnectionId id, int fd, uint32_t events, int operation) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  // epoll_ctl() fails only without memory. The deadline of the connection then ends it.
  epoll_ctl(epoll_.get(), operation, fd, &event);
}

int Gate::TimeoutMillis() {
  absl::MutexLock lock(&mutex_);
  absl::Time next = std::min(state_.next_deadline(), log_.DueAt(state_.counts()));
  if (!listening_) next = std::min(next, listen_again_);
  if (next == absl::InfiniteFuture()) return -1;
  const int64_t millis = absl::ToInt64Milliseconds(next - Now()) + 1;
  return static_cast<int>(std::clamp<int64_t>(millis, 0, kMaxTimeoutMillis));
}

void Gate::Run() {
  std::array<epoll_event, kMaxEvents> events;
  while (true) {
    const int ready = epoll_wait(epoll_.get(), events.data(), kMaxEvents, TimeoutMillis());
    {
      absl::MutexLock lock(&mutex_);
      if (stopping_) return;
    }
    for (int i = 0; i < ready; ++i) {
      const uint64_t id = events[static_cast<size_t>(i)].data.u64;
      if (id == 0) {
        wake_.Clear();
      } else if (id < kFirstConnection) {
        AcceptFrom(id - 1);
      } else {
        OnEvent(id, events[static_cast<size_t>(i)].events);
      }
    }
    if (!listening_ && Now() >= listen_again_) ListenAgain(true);
    ExpireAndHandOver();
  }
}

// Starts or stops watching the listeners. While there is no room, new connections wait in
// the kernel's queue.
void Gate::ListenAgain(bool listen) {
  listening_ = listen;
  listen_again_ = Now() + kPause;
  for (size_t i = 0; i < listeners_.size(); ++i) {
    Watch(i + 1, listeners_[i], listen ? uint32_t{EPOLLIN} : 0, EPOLL_CTL_MOD);
  }
}

void Gate::AcceptFrom(size_t listener) {
  Outcome outcome = Outcome::kMayBeMore;
  for (int n = 0; n < kMaxAtOnce && outcome == Outcome::kMayBeMore; ++n) {
    outcome = AcceptOne(listener);
  }
  if (outcome == Outcome::kNoRoom) ListenAgain(false);
}

Gate::Outcome Gate::AcceptOne(size_t listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  common::UniqueFd fd(accept4(listeners_[listener], reinterpret_cast<sockaddr*>(&address), &size,
                              SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!fd.valid()) {
    if (errno == EAGAIN) return Outcome::kNoneWaits;
    if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) {
      return Outcome::kMayBeMore;  // The client closed the connection before it was accepted.
    }
    log_.NoteNoRoom(options_.first_crowded, Now());
    absl::MutexLock lock(&mutex_);
    if (const auto evicted = state_.Evict(Now())) Erase(*evicted, /*shut_down=*/true);
    return Outcome::kNoRoom;
  }
  if (listener < options_.tcp.size()) {
    Admit(std::move(fd), address, Now());
  } else {
    AdmitLocal(std::move(fd), Now());
  }
  return Outcome::kMayBeMore;
}

void Gate::Admit(common::UniqueFd fd, const sockaddr_storage& address, absl::Time now) {
  const std::optional<PeerAddress> peer = FromSocketAddress(address);
  if (!peer.has_value()) return;
  const ConnectionId id = next_id_++;
  absl::MutexLock lock(&mutex_);
  const GateState::Admission admission =
      state_.Accept(id, peer->source, fd.get() >= options_.first_crowded, now);
  if (admission.evicted.has_value()) {
    Erase(*admission.evicted, /*shut_down=*/true);
    MoveDown(&fd);
  }
  if (!admission.admitted) return;
  Watch(id, fd.get(), EPOLLIN | EPOLLRDHUP | EPOLLET, EPOLL_CTL_ADD);
  by_key_[peer->key] = id;
  connections_[id] = {std::move(fd), peer->key, /*handed_over=*/false};
}

void Gate::AdmitLocal(common::UniqueFd fd, absl::Time now) {
  const std::optional<uid_t> uid = PeerUid(fd.get());
  if (!uid.has_value() || (*uid != 0 && *uid != options_.owner)) {
    return log_.NoteForeignUser(uid, now);
  }
  common::UniqueFd given;
  const ConnectionId id = next_id_++;
  {
    absl::MutexLock lock(&mutex_);
    const GateState::Admission admission =
        state_.AcceptOpen(id, fd.get() >= options_.first_crowded, now);
    if (admission.evicted.has_value()) {
      Erase(*admission.evicted, /*shut_down=*/true);
      MoveDown(&fd);
    }
    if (!admission.admitted) return;
    given = DuplicateWithRoom(fd.get(), now);
    if (!given.valid()) return state_.Closed(id);
    Watch(id, fd.get(), EPOLLET, EPOLL_CTL_ADD);
    connections_[id] = {std::move(fd), "", /*handed_over=*/true};
  }
  options_.on_local(std::move(given));
}

void Gate::OnEvent(ConnectionId id, uint32_t events) {
  absl::MutexLock lock(&mutex_);
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  if ((events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0) {
    state_.Closed(id);
    return Erase(id, /*shut_down=*/false);
  }
  if (!found->second.handed_over) ReadFirstRecord(id, found->second.fd.get());
}

void Gate::ReadFirstRecord(ConnectionId id, int fd) {
  std::array<char, kMaxFirstRecord> bytes;
  const ssize_t size = recv(fd, bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
  if (size < 0) return;
  const Protocol protocol = Recognise({bytes.data(), static_cast<size_t>(size)});
  if (protocol == Protocol::kUnfinished) return;
  const bool enrols = protocol == Protocol::kEnrolment && options_.on_enrolment != nullptr;
  if (enrols || protocol == Protocol::kTls) return state_.Park(id, enrols, Now());
  state_.Reject(id);
  Erase(id, /*shut_down=*/false);
}

// Forgets a connection and closes the gate's descriptor. Removes it from epoll explicitly, because
// gRPC's descriptor would keep the connection there.
void Gate::Erase(ConnectionId id, bool shut_down) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  const int fd = found->second.fd.get();
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  if (shut_down) shutdown(fd, SHUT_RDWR);
  const auto key = by_key_.find(found->second.key);
  if (key != by_key_.end() && key->second == id) by_key_.erase(key);
  connections_.erase(found);
}

// Returns a second descriptor of a connection, for gRPC. If its number is of the reserve, evicts a
// waiting connection to make room. The result is invalid if no descriptor is left.
common::UniqueFd Gate::DuplicateWithRoom(int fd, absl::Time now) {
  common::UniqueFd second = Duplicate(fd);
  if (second.valid() && second.get() < options_.first_crowded) return second;
  const std::optional<ConnectionId> evicted = state_.Evict(now);
  if (!evicted.has_value()) return second;
  Erase(*evicted, /*shut_down=*/true);
  if (!second.valid()) return Duplicate(fd);
  MoveDown(&second);
  return second;
}

void Gate::ExpireAndHandOver() {
  std::vector<std::pair<common::UniqueFd, bool>> given;
  {
    absl::MutexLock lock(&mutex_);
    for (const ConnectionId id : state_.Expire(Now())) Erase(id, /*shut_down=*/true);
    for (const GateState::Released& released : state_.Release(Now())) {
      Connection& connection = connections_.at(released.id);
      common::UniqueFd fd = DuplicateWithRoom(connection.fd.get(), Now());
      if (!fd.valid()) {
        state_.Closed(released.id);
        Erase(released.id, /*shut_down=*/true);
        continue;
      }
      connection.handed_over = true;
      Watch(released.id, connection.fd.get(), EPOLLET, EPOLL_CTL_MOD);
      given.emplace_back(std::move(fd), released.enrols);
    }
    log_.Note(state_.counts(), Now());
  }
  // Without the lock, because gRPC may call back from the receiver.
  for (auto& [fd, enrols] : given) {
    (enrols ? options_.on_enrolment : options_.on_tcp)(std::move(fd));
  }
}

void Gate::Authenticated(const std::string& peer, const std::string& serial) {
  const std::optional<PeerAddress> address = FromGrpcPeer(peer);
  if (!address.has_value()) return;
  absl::MutexLock lock(&mutex_);
  const auto found = by_key_.find(address->key);
  if (found != by_key_.end() && state_.Authenticated(found->second, serial)) wake_.Wake();
}

void Gate::Cut(const std::string& serial) {
  absl::MutexLock lock(&mutex_);
  for (const ConnectionId id : state_.OfSerial(serial)) {
    state_.Closed(id);
    Erase(id, /*shut_down=*/true);
  }
}

std::optional<std::string> Gate::CutPeer(const std::string& peer) {
  const std::optional<PeerAddress> address = FromGrpcPeer(peer);
  if (!address.has_value()) return std::nullopt;
  absl::MutexLock lock(&mutex_);
  const auto found = by_key_.find(address->key);
  if (found == by_key_.end()) return std::nullopt;
  const ConnectionId id = found->second;
  std::string serial = state_.SerialOf(id);
  state_.Closed(id);
  Erase(id, /*shut_down=*/true);
  return serial;
}

GateCounts Gate::counts() {
  absl::MutexLock lock(&mutex_);
  return state_.counts();
}

}  // namespace accel::coordinator
