// The output that somebody reads from afar: the agent sends what the desired state asks for, and
// nothing else.
#pragma once

#include <string>
#include <vector>

#include "proto/node.pb.h"

namespace accel::agent {

// One reader, and where its rank's output lies on this node.
struct RelaySource {
  v1::LogReader reader;
  std::string log_dir;    // Of the generation.
  bool complete = false;  // The generation has ended here: nothing will be added.
};

// The agent's loop calls it; nothing blocks.
class LogRelays {
 public:
  virtual ~LogRelays() = default;

  // All that shall be relayed now: starts a relay for each new reader, ends those of readers that
  // are gone.
  virtual void Set(const std::vector<RelaySource>& sources) = 0;
};

// For a coordinator in the same process, whose user reads the files itself.
class NoLogRelays final : public LogRelays {
 public:
  void Set(const std::vector<RelaySource>&) override {}
};

}  // namespace accel::agent
