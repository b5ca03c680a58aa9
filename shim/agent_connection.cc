#include "shim/agent_connection.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <utility>
#include <vector>

#include "shim/core/wire.h"
#include "shim/unix_socket.h"

namespace accel::shim {

AgentConnection::AgentConnection(EventLoop* loop, Options options)
    : loop_(loop), options_(std::move(options)) {
  const int listener = options_.listener.get();
  if (listener >= 0) loop_->Watch(listener, EPOLLIN, [this] { Accept(); });
  if (options_.connected.valid()) Use(std::move(options_.connected));
}

AgentConnection::~AgentConnection() {
  if (channel_ != nullptr) loop_->Unwatch(channel_->fd());
  if (listens()) loop_->Unwatch(options_.listener.get());
}

void AgentConnection::Accept() {
  // The shim keeps descriptors in reserve (start_checks.cc), so this does not fail for lack of one.
  common::UniqueFd socket(
      accept4(options_.listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.valid()) return;
  if (!PeerMayCommand(socket.get())) {
    std::fprintf(stderr, "accel-shim: refused a connection of another user.\n");
    return;
  }
  Use(std::move(socket));
}

void AgentConnection::Use(common::UniqueFd socket) {
  if (channel_ != nullptr) loop_->Unwatch(channel_->fd());
  channel_ = std::make_unique<Channel>(std::move(socket));
  channel_->Send(FrameType::kHello, EncodeHello(options_.hello()));
  report_waits_ = true;
  Watch();
}

void AgentConnection::Watch() {
  awaits_room_ = channel_->has_unsent();
  loop_->Watch(channel_->fd(), awaits_room_ ? EPOLLIN | EPOLLOUT : EPOLLIN,
               [this] { OnReadable(); });
}

void AgentConnection::OnReadable() {
  if (channel_ == nullptr) return;
  std::vector<Frame> frames;
  const absl::Status received = channel_->Receive(&frames);
  for (const Frame& frame : frames) {
    absl::StatusOr<ShimCommand> command = DecodeCommand(frame.type, frame.payload);
    const absl::Status performed =
        command.ok() ? options_.on_command(*std::move(command)) : command.status();
    if (!performed.ok()) return Refuse(performed);
  }
  if (received.ok()) return;
  absl::IsUnavailable(received) ? Lose(received) : Refuse(received);
}

void AgentConnection::Refuse(const absl::Status& why) {
  std::fprintf(stderr, "accel-shim: %s The connection to the agent is closed.\n",
               std::string(why.message()).c_str());
  WireWriter text;
  text.String(why.message());
  channel_->Send(FrameType::kRefusal, text.Take());
  Lose(why);
}

void AgentConnection::Lose(const absl::Status& why) {
  loop_->Unwatch(channel_->fd());
  channel_.reset();
  options_.on_lost(why);
}

common::UniqueFd AgentConnection::TakeFd() {
  return channel_ == nullptr ? common::UniqueFd() : channel_->TakeFd();
}

void AgentConnection::Report(bool changed, const std::function<std::string()>& payload) {
  if (channel_ == nullptr) return;
  report_waits_ |= changed;
  channel_->Flush();
  // At most one report is in progress, because each report contains everything that an
  // older one says.
  if (report_waits_ && !channel_->has_unsent()) {
    channel_->Send(FrameType::kReport, payload());
    report_waits_ = false;
  }
  if (channel_->has_unsent() != awaits_room_) Watch();
}

bool AgentConnection::has_unsent() const {
  return channel_ != nullptr && (report_waits_ || channel_->has_unsent());
}

}  // namespace accel::shim
