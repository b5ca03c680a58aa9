// LogRelays over gRPC: one RelayLogs stream, and one thread, for each reader.
#pragma once

#include <grpcpp/grpcpp.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/log_relays.h"
#include "proto/service.grpc.pb.h"

namespace accel {

class GrpcLogRelays final : public LogRelays {
 public:
  // At once; readers beyond this many wait for a place (invariant 8).
  static constexpr size_t kMaxRelays = 128;

  GrpcLogRelays(std::shared_ptr<grpc::Channel> channel, std::string token);
  ~GrpcLogRelays() override;

  void Set(const std::vector<RelaySource>& sources) override;

 private:
  class Relay;

  const std::unique_ptr<v1::Coordinator::Stub> stub_;
  const std::string token_;
  std::map<std::string, std::unique_ptr<Relay>> relays_;  // By reader id.
  std::set<std::string> served_;  // Readers that have had all, and are still listed.
};

}  // namespace accel
