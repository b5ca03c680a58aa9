// Who reads which output just now: finds the pipe that a relay belongs to, and tells each node whom
// it shall relay for.
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

// Thread-safe. All but FindPipe() is called by the loop.
class LogHub {
 public:
  static constexpr size_t kMostReaders = 4096;  // Ranks that are being read, over all clients.

  // Begins a reading; returns the nodes whose desired state changes. NOT_FOUND: no such generation
  // or rank. UNAVAILABLE: its node is not connected. INVALID_ARGUMENT: more ranks than can be read
  // at once. RESOURCE_EXHAUSTED: too many are being read.
  absl::StatusOr<std::vector<common::NodeId>> Begin(LogReadId read,
                                                    const v1::ReadLogsRequest& request,
                                                    const v1::Job& job, const ClusterState& state,
                                                    absl::Time now, std::shared_ptr<LogPipe> pipe);

  // Ends it; returns the nodes whose desired state changes.
  std::vector<common::NodeId> End(LogReadId read);

  // The node's stream is gone: what it has not begun to relay will not come.
  void LoseNode(const common::NodeId& node, const std::string& name);

  // Those that the node shall relay for.
  std::vector<v1::LogReader> ReadersOn(const common::NodeId& node) const;

  // Null: nobody reads under this id.
  std::shared_ptr<LogPipe> FindPipe(const std::string& reader_id) const;

  // All readers hear UNAVAILABLE.
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
