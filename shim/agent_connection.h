// The shim's side of the connection to its agent. A shim has at most one connection at a time.
//
// A shim gets its first connection in one of two ways. `accel launch` passes one end of a socket
// pair, and no other connection ever follows. `accel-agent` passes a listening socket, so that the
// next agent of the node can connect too (docs/decisions/0032). A new connection replaces the older
// one, because a new agent replaces the older agent.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/unique_fd.h"
#include "shim/channel.h"
#include "shim/event_loop.h"

namespace accel::shim {

// Not thread-safe. No call blocks.
class AgentConnection {
 public:
  struct Options {
    common::UniqueFd connected;  // Either a connected socket,
    common::UniqueFd listener;   // or a listening Unix socket.
    // Returns the first message for a new connection.
    std::function<ShimHello()> hello;
    // Performs a command. An error is sent to the agent, and the connection is closed.
    std::function<absl::Status(ShimCommand)> on_command;
    // Called when the connection has ended, unless a newer one replaces it. UNAVAILABLE: the agent
    // is gone. Any other code: the shim has refused a frame and closed the connection.
    std::function<void(const absl::Status& why)> on_lost;
  };

  AgentConnection(EventLoop* loop, Options options);
  ~AgentConnection();

  bool listens() const { return options_.listener.valid(); }
  bool connected() const { return channel_ != nullptr; }

  // Returns the oldest descriptor that came with a command and was not taken yet. Invalid if
  // there is none.
  common::UniqueFd TakeFd();

  // Sends the report `payload()` if it has `changed`, or if the connection is new. While the agent
  // does not read an earlier report, nothing is sent; the newest report follows later. Must be
  // called in each turn of the loop.
  void Report(bool changed, const std::function<std::string()>& payload);
  // Returns true if the agent has not yet been sent the newest report.
  bool has_unsent() const;

 private:
  void Accept();
  void Use(common::UniqueFd socket);
  void OnReadable();
  void Refuse(const absl::Status& why);
  void Lose(const absl::Status& why);
  void Watch();

  EventLoop* const loop_;
  Options options_;
  std::unique_ptr<Channel> channel_;
  bool awaits_room_ = false;   // The channel waits for room in the socket.
  bool report_waits_ = false;  // A report waits for that room.
};

}  // namespace accel::shim
