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

  // Returns the next report.
  const v1::NodeObserved& Report();

 private:
  void Start(const v1::DesiredGeneration& desired);
  void Stop(const v1::GenerationKey& key);
  void Forget(const v1::GenerationKey& key);
  void CloseSocket(uint64_t id);
  v1::ObservedGeneration* Find(const v1::GenerationKey& key);

  v1::NodeObserved observed_;
  uint64_t next_socket_ = 1;
};

}  // namespace accel::bench
