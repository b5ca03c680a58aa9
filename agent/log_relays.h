// The interface that relays workers' output to remote readers. The agent relays only to the readers
// in the desired state.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "process/account.h"
#include "proto/node.pb.h"

namespace accel::agent {

// One reader, and the place of its rank's output on this node.
struct RelaySource {
  v1::LogReader reader;
  std::string log_dir;  // The generation's folder.
  // True if the generation has ended here, so no output will be added.
  bool complete = false;
  // The user with whose rights the output is read. If unset, it is the owner of the job's folder in
  // `jobs_dir`. If `jobs_dir` is empty too, it is this process's user.
  std::optional<process::Account> user;
  std::string jobs_dir;
  std::string refusal;  // If not empty: why the output may not be read.
};

// Not thread-safe: the thread of the agent's loop makes all calls. No call blocks.
class LogRelays {
 public:
  virtual ~LogRelays() = default;

  // Sets all readers that there are now. Starts a relay for each new reader, and ends the relays of
  // readers that are no longer listed.
  virtual void Set(const std::vector<RelaySource>& sources) = 0;
};

// A LogRelays that relays nothing. It is for a coordinator in the same process, because its user
// reads the files directly.
class NoLogRelays final : public LogRelays {
 public:
  void Set(const std::vector<RelaySource>&) override {}
};

}  // namespace accel::agent
