// Plays agents whose certificates, or whose authorities, are those of another cluster.
//
//   foreign_agents ADDRESS FOLDER AGENTS SECONDS
//
// Connects AGENTS links of real agents to the coordinator at ADDRESS, all with the identity in
// FOLDER (security/identity_files.h). Each handshake must fail. The links pause between two
// attempts, and log, as those of real agents do. Ends after SECONDS. If the coordinator has
// answered any of them, it ends with an error.

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "agent/channel.h"
#include "agent/grpc_link.h"
#include "agent/session_channels.h"
#include "bench/control/exit_on_error.h"
#include "bench/control/simulated_node.h"
#include "common/clock.h"
#include "common/descriptors.h"
#include "common/grpc_log.h"
#include "common/log.h"
#include "security/identity_files.h"

namespace accel::bench {
namespace {

constexpr int kMaxAgents = 4096;  // The coordinator accepts no more connections of one source.
constexpr absl::Duration kLook = absl::Milliseconds(20);

absl::Time Now() { return common::SteadyClock()->Now(); }

class ForeignAgent {
 public:
  ForeignAgent(const std::string& address, const security::ClientIdentity& identity, int number)
      : node_(number), link_(std::make_shared<agent::SessionChannels>([=] {
          return agent::OpenChannel(address, identity);
        })) {}

  // Reports in each session, as an agent does, because the coordinator answers no other calls.
  void Step() {
    Check(link_.fatal());
    const uint64_t session = link_.session();
    if (session == 0) return;
    if (session != session_) link_.Report(node_.Report());
    session_ = session;
    if (link_.TakeDesired(session)) Check(absl::InternalError("the coordinator has answered"));
  }

 private:
  SimulatedNode node_;
  agent::GrpcLink link_;
  uint64_t session_ = 0;
};

int Main(int argc, char** argv) {
  int count = 0;
  int seconds = 0;
  if (argc != 5 || !absl::SimpleAtoi(argv[3], &count) || count < 1 || count > kMaxAgents ||
      !absl::SimpleAtoi(argv[4], &seconds)) {
    std::fprintf(stderr, "usage: foreign_agents ADDRESS FOLDER AGENTS SECONDS (1 to %d agents)\n",
                 kMaxAgents);
    return 2;
  }
  common::InitLog("foreign_agents", common::LogLevel::kInfo);
  common::TakeGrpcLog();
  common::RaiseDescriptorLimit();
  const security::ClientIdentity identity = Check(security::IdentityFiles(argv[2], "node").Read());
  const absl::Time end = Now() + absl::Seconds(seconds);
  std::vector<std::unique_ptr<ForeignAgent>> agents;
  for (int i = 0; i < count; ++i) {
    agents.push_back(std::make_unique<ForeignAgent>(argv[1], identity, i));
  }
  while (Now() < end) {
    for (const auto& agent : agents) agent->Step();
    absl::SleepFor(kLook);
  }
  return 0;
}

}  // namespace
}  // namespace accel::bench

int main(int argc, char** argv) { return accel::bench::Main(argc, argv); }
