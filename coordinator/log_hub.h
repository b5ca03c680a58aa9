// The output that is being read at present. It knows which pipe a relay belongs to, and for which
// readers each node must relay.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "coordinator/core/cluster_state.h"
#include "coordinator/inbox.h"
#include "coordinator/log_pipe.h"

namespace accel::coordinator {

// Thread-safe. Only the loop calls functions other than FindPipe().
class LogHub {
 public:
  // Maximum number of ranks whose output is being read, over all clients.
  static constexpr size_t kMaxReaders = 4096;

  // Starts a reading and returns the nodes whose desired state changes. NOT_FOUND: there is no
  // such generation or rank. UNAVAILABLE: a node of it is not connected. INVALID_ARGUMENT: the
  // generation has more ranks than can be read. RESOURCE_EXHAUSTED: too many ranks are being
  // read at present.
  absl::StatusOr<std::vector<common::NodeId>> Begin(LogReadId read,
                                                    const v1::ReadLogsRequest& request,
                                                    const v1::Job& job, const ClusterState& state,
                                                    absl::Time now, std::shared_ptr<LogPipe> pipe);

  // Ends a reading and returns the nodes whose desired state changes.
  std::vector<common::NodeId> End(LogReadId read);

  // Ends all relays of a node whose stream is gone. Each reader gets a last chunk with the reason.
  void LoseNode(const common::NodeId& node, const std::string& name);

  // Returns the readers for which the node must relay.
  std::vector<v1::LogReader> ReadersOn(const common::NodeId& node) const;

  // Returns null if the id is unknown.
  std::shared_ptr<LogPipe> FindPipe(const std::string& reader_id) const;

  // Ends all readings with UNAVAILABLE.
  void Close();

 private:
  struct Reader {
    LogReadId read = 0;
    common::NodeId node;
    v1::LogReader wish;
    std::shared_ptr<LogPipe> pipe;
  };

  mutable absl::Mutex mutex_;
  std::map<std::string, Reader> readers_ ABSL_GUARDED_BY(mutex_);  // By reader id.
};

}  // namespace accel::coordinator
