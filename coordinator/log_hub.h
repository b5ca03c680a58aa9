// The output that is being read at present. It knows which pipe a relay belongs to, and for which
// readers each node must relay.
//
// A reader outlives the relays that serve it. If a relay breaks, because an agent or its connection
// went away, the reader is listed again under a new id, and resumes where the client has read to.
// It ends early only if its node is lost, and no live generation makes it worth waiting for.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "coordinator/core/cluster_state.h"
#include "coordinator/inbox.h"
#include "coordinator/log_pipe.h"

namespace accel::coordinator {

// Used by the loop's thread, except FindPipe(), which is thread-safe.
class LogHub {
 public:
  // Maximum number of ranks whose output is being read, over all clients.
  static constexpr size_t kMaxReaders = 4096;
  // Maximum number of relays of one reader in a row that break without having sent anything.
  static constexpr int kMaxBreaks = 8;

  // Starts a reading and returns the nodes whose desired state changes. The reading may begin with
  // ranks whose nodes are not connected: see CheckNodes(). NOT_FOUND: there is no such generation
  // or rank. INVALID_ARGUMENT: the generation has more ranks than can be read, or the message names
  // a field of the request. RESOURCE_EXHAUSTED: too many ranks are being read at present.
  absl::StatusOr<std::vector<common::NodeId>> Begin(LogReadId read,
                                                    const v1::ReadLogsRequest& request,
                                                    const v1::Job& job, const ClusterState& state,
                                                    std::shared_ptr<LogPipe> pipe);

  // Ends a reading and returns the nodes whose desired state changes.
  std::vector<common::NodeId> End(LogReadId read);

  // Notes that a relay's stream has ended. If the relay had not finished, it must be opened again.
  // Returns its node, whose desired state changes; nullopt if the relay was replaced before.
  std::optional<common::NodeId> EndRelay(const std::string& reader_id);

  // Notes that a node's stream is gone. All of its relays must be opened again when it returns.
  void LoseNode(const common::NodeId& node);

  // Decides about the readers whose nodes are away. Once a node has been away for so long that it
  // counts as lost, its readers end with an error. Followers of a live generation wait, and are
  // told so. Looks at them 20 times a second at most, because the loop calls it in every turn.
  void CheckNodes(const ClusterState& state, absl::Time now);

  // Returns the readers for which the node must relay.
  std::vector<v1::LogReader> ReadersOn(const common::NodeId& node) const;

  // Returns null if the id is unknown, or if another node than the caller must relay under it.
  std::shared_ptr<LogPipe> FindPipe(const std::string& reader_id, const Caller& caller) const;

  // Ends all readings with UNAVAILABLE.
  void Close();

 private:
  struct Reader {
    LogReadId read = 0;
    common::NodeId node;
    std::string node_name;
    v1::LogReader wish;
    std::shared_ptr<LogPipe> pipe;
    int breaks = 0;         // Relays in a row that broke without having sent anything.
    bool notified = false;  // The client was told that the node is away.
  };
  using Readers = std::map<std::string, Reader>;  // By reader id.
  struct Relay {
    common::NodeId node;
    std::shared_ptr<LogPipe> pipe;
  };

  void Add(Reader reader);
  Readers::iterator Erase(Readers::iterator reader);
  void Resume(Readers::iterator reader, std::optional<Reader>* resumed);
  void Wait(Reader* reader, bool waits);
  bool CheckReader(Reader* reader, bool away, bool lost, const ClusterState& state);

  Readers readers_;
  std::set<common::NodeId> away_;               // Nodes of readers without a stream.
  absl::Time check_at_ = absl::InfinitePast();  // The next look at them.
  mutable absl::Mutex mutex_;
  std::map<std::string, Relay> relays_ ABSL_GUARDED_BY(mutex_);  // By reader id.
};

}  // namespace accel::coordinator
