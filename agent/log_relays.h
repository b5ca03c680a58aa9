// The interface that relays workers' output to remote readers. The agent sends only what the
// desired state asks for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "process/account.h"
#include "proto/node.pb.h"

namespace accel::agent {

// One reader, and where its rank's output is on this node.
struct RelaySource {
  v1::LogReader reader;
  std::string log_dir;    // The generation's folder.
  bool complete = false;  // The generation has ended here, so no output will be added.
  // The output is read with the rights of this user. If unset, with those of the owner of the job's
  // folder in `jobs_dir`; if that is empty, with this process's.
  std::optional<process::Account> user;
  std::string jobs_dir;
  std::string refusal;  // If not empty: why the output may not be read.
};

// Not thread-safe: the thread of the agent's loop makes all calls. No call blocks.
class LogRelays {
 public:
  virtual ~LogRelays() = default;

  // Sets everything that must be relayed now. Starts a relay for each new reader, and ends the
  // relays of readers that are gone.
  virtual void Set(const std::vector<RelaySource>& sources) = 0;
};

// Relays nothing. For a coordinator in the same process, whose user reads the files directly.
class NoLogRelays final : public LogRelays {
 public:
  void Set(const std::vector<RelaySource>&) override {}
};

}  // namespace accel::agent
