// What a node of a simulated cluster reports: every start succeeds immediately, and every stop too.
#pragma once

#include <cstdint>
#include <string>

#include "proto/node.pb.h"

namespace accel::bench {

// Not thread-safe.
class SimulatedNode {
 public:
  explicit SimulatedNode(int number);

  // Acts on the desired state. New generations are RUNNING at once.
  void Apply(const v1::NodeDesired& desired);

  // Returns the next report, or its bytes, which cost less.
  v1::NodeObserved Report();
  std::string ReportBytes();

 private:
  void Start(const v1::DesiredGeneration& desired);
  void Stop(const v1::GenerationKey& key);
  void Forget(const v1::GenerationKey& key);
  void CloseSocket(uint64_t id);
  v1::ObservedGeneration* Find(const v1::GenerationKey& key);

  // The node's resources, which seldom change, and all else of a report. Merged, or one after the
  // other as bytes, they are the report.
  v1::NodeObserved resources_;
  v1::NodeObserved state_;
  std::string resources_bytes_;  // Empty until they are needed.
  uint64_t next_socket_ = 1;
};

}  // namespace accel::bench
