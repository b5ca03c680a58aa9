// The interface between an agent and its coordinator, over gRPC or within one process.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "proto/node.pb.h"

namespace accel::agent {

// Maximum size of a report in bytes. The coordinator accepts 16 MiB.
inline constexpr int64_t kMaxReportBytes = 12 << 20;

// Not thread-safe: the thread of the agent's loop makes all calls. No call blocks.
class CoordinatorLink {
 public:
  virtual ~CoordinatorLink() = default;

  // Returns a number that increases with each new session, or 0 if there is no session. In a new
  // session the agent reports its whole state again.
  virtual uint64_t session() = 0;

  // Sends the whole state. Replaces an older report that is still waiting to be sent. Without a
  // session the report is discarded.
  virtual void Report(v1::NodeObserved observed) = 0;

  // Returns the maximum size of a report in bytes. It shrinks after the coordinator has rejected a
  // report as too large.
  virtual int64_t max_report_bytes() = 0;

  // Returns the newest desired state that has arrived in this session since the last call. Returns
  // nullopt if there is none. Also returns nullopt if a later session has begun, because messages
  // of an earlier session have no effect in a later one.
  virtual std::optional<v1::NodeDesired> TakeDesired(uint64_t session) = 0;

  // Returns an error once there can never be a session again. UNAUTHENTICATED: the coordinator
  // refuses this node, and no session has ever brought a desired state. ALREADY_EXISTS: another
  // agent has taken over this node.
  virtual absl::Status fatal() = 0;

  // Readable when session(), TakeDesired() or fatal() have news.
  virtual int wake_fd() const = 0;
};

}  // namespace accel::agent
