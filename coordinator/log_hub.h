// The readings of output that are in progress. The hub knows the pipe to which each relay belongs,
// and the readers for which each node must relay.
//
// A reader outlives the relays that serve it. A relay breaks if an agent or its connection goes
// away. The reader is then listed again under a new id, and resumes where the client has read to. A
// reader ends early in two cases: its node is lost and it does not follow a live generation, or its
// relays break too often.
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

  // Starts a reading and returns the nodes whose desired state changes. The nodes of some ranks may
  // not be connected: see CheckNodes(). Errors:
  //
  // * NOT_FOUND: there is no such generation or rank, or the job has no generation yet.
  // * INVALID_ARGUMENT: more ranks are asked for than can be read, or the message names a field.
  // * RESOURCE_EXHAUSTED: too many ranks are being read at present.
  absl::StatusOr<std::vector<common::NodeId>> Begin(LogReadId read,
                                                    const v1::ReadLogsRequest& request,
                                                    const v1::Job& job, const ClusterState& state,
                                                    std::shared_ptr<LogPipe> pipe);

  // Ends a reading and returns the nodes whose desired state changes.
  std::vector<common::NodeId> End(LogReadId read);

  // Notes that the stream of a relay has ended. If the relay had not finished, it must be opened
  // again. After kMaxBreaks relays without output, the reader ends with an error instead. Returns
  // the node of the relay, whose desired state changes. nullopt if the reader has ended or the
  // relay was replaced before.
  std::optional<common::NodeId> EndRelay(const std::string& reader_id);

  // Notes that the stream of a node is closed. All relays of the node must be opened again when
  // the node returns.
  void LoseNode(const common::NodeId& node);

  // Decides about the readers whose nodes are not connected. Once such a node counts as lost, its
  // readers end with an error. Readers that follow a live generation wait instead, and the client
  // gets a notice. Returns immediately if the last look was less than 50 ms ago, because the loop
  // calls this in every turn.
  void CheckNodes(const ClusterState& state, absl::Time now);

  // Returns the readers for which the node must relay.
  std::vector<v1::LogReader> ReadersOn(const common::NodeId& node) const;

  // Returns the pipe of a relay. Null if the id is unknown, or if the caller is a node other than
  // the one that must relay.
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
  std::set<common::NodeId> away_;               // Nodes with readers that have no stream.
  absl::Time check_at_ = absl::InfinitePast();  // The next look at `away_`.
  mutable absl::Mutex mutex_;
  std::map<std::string, Relay> relays_ ABSL_GUARDED_BY(mutex_);  // By reader id.
};

}  // namespace accel::coordinator
