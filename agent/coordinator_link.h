// The agent's way to its coordinator: over gRPC, or to one in the same process.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "proto/node.pb.h"

namespace accel::agent {

// Of a report, in bytes. The coordinator accepts 16 MiB.
inline constexpr int64_t kMostReportBytes = 12 << 20;

// The agent's loop calls all of it from one thread; nothing blocks.
class CoordinatorLink {
 public:
  virtual ~CoordinatorLink() = default;

  // 0: no session. Otherwise a number that rises with each new one: the agent then reports anew.
  virtual uint64_t session() = 0;

  // Sends the whole state. Only the newest counts: an older one that is still waiting is replaced.
  // Lost without a session.
  virtual void Report(v1::NodeObserved observed) = 0;

  // How large a report may be, in bytes: less than before once the coordinator has refused one.
  virtual int64_t most_report_bytes() = 0;

  // The newest desired state that has come in since the last call.
  virtual std::optional<v1::NodeDesired> TakeDesired() = 0;

  // Why there will never be a session again. UNAUTHENTICATED: the token was refused by the first
  // coordinator spoken to. ALREADY_EXISTS: another agent has taken this node over.
  virtual absl::Status fatal() = 0;

  // Readable when session(), TakeDesired() or fatal() have news.
  virtual int wake_fd() const = 0;
};

}  // namespace accel::agent
