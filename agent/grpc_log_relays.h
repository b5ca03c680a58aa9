// LogRelays over gRPC. Each reader has its own RelayLogs stream and its own thread, so that reads
// and writes can simply block (docs/decisions/0014).
#pragma once

#include <grpcpp/grpcpp.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/log_relays.h"
#include "agent/session_channels.h"

namespace accel::agent {

class GrpcLogRelays final : public LogRelays {
 public:
  explicit GrpcLogRelays(std::shared_ptr<SessionChannels> channels);
  // All relays use this channel.
  explicit GrpcLogRelays(const std::shared_ptr<grpc::Channel>& channel);
  ~GrpcLogRelays() override;

  void Set(const std::vector<RelaySource>& sources) override;

 private:
  class Relay;

  // Asks the relays of all readers that are not in `wanted` to end. Destroys relays
  // that have ended.
  void StopAllBut(const std::set<std::string>& wanted);

  const std::shared_ptr<SessionChannels> channels_;
  // Keyed by reader id. Null if the relay has finished but the reader is still listed.
  std::map<std::string, std::unique_ptr<Relay>> relays_;
  // Relays whose readers are gone, until their threads have ended. The agent's loop must not wait
  // for these threads, because a user can make reads of a job's files take minutes.
  std::vector<std::unique_ptr<Relay>> ending_;
};

}  // namespace accel::agent
