// Measures how agents with certificates come back to a coordinator that has restarted.
//
//   reconnect_storm AGENTS < KEY
//
// KEY is what `accel node add --uses AGENTS` has printed. Enrols AGENTS nodes and connects them
// with the link of a real agent, back-off included. Each reports and sends heartbeats as a real
// agent does. Prints "connected" when the coordinator has answered all of them, and "reconnected"
// when it has answered all of them again in later sessions. The caller restarts the coordinator
// between the two lines.

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/channel.h"
#include "agent/grpc_link.h"
#include "bench/control/exit_on_error.h"
#include "bench/control/simulated_node.h"
#include "common/clock.h"
#include "common/secret_input.h"
#include "security/enrolment/enrolment_client.h"
#include "security/enrolment/join_string.h"
#include "security/key.h"
#include "security/signing_request.h"

namespace accel::bench {
namespace {

constexpr int kMaxAgents = 4096;  // The coordinator accepts no more connections of one source.
constexpr absl::Duration kTimeout = absl::Seconds(15);  // For an enrolment.
constexpr absl::Duration kLongest = absl::Minutes(2);   // For all agents together.
constexpr absl::Duration kLook = absl::Milliseconds(5);

absl::Time Now() { return common::SteadyClock()->Now(); }

security::ClientIdentity Enrol(const security::JoinString& key, const v1::NodeObserved& node) {
  const security::PrivateKey own = Check(security::PrivateKey::Make());
  security::EnrolmentRequest request;
  request.kind = security::PrincipalKind::kNode;
  request.csr = Check(security::MakeRequest(own));
  request.id = node.node_id();
  request.name = node.name();
  const security::EnrolmentAnswer answer =
      Check(security::Enrol(key, std::move(request), absl::Now(), kTimeout));
  return {own.ToPem(), answer.certificate, answer.authorities};
}

class StormAgent {
 public:
  StormAgent(const security::JoinString& key, int number) : node_(number) {
    link_ = std::make_unique<agent::GrpcLink>(
        agent::OpenChannel(key.address, Enrol(key, node_.Report())));
  }

  // Does what an agent's loop does. Called often.
  void Step(absl::Time now) {
    Check(link_->fatal());
    const uint64_t session = link_->session();
    if (session != session_) {
      session_ = session;
      answered_ = false;
      Report(now);
    }
    if (session_ == 0) return;
    if (const auto desired = link_->TakeDesired(session_)) {
      answered_ = true;
      heartbeat_ = absl::Milliseconds(desired->heartbeat_ms());
      node_.Apply(*desired);
      Report(now);
    } else if (now >= due_) {
      Report(now);
    }
  }

  // The session in which the coordinator has answered, or 0.
  uint64_t answered() const { return answered_ ? session_ : 0; }

 private:
  void Report(absl::Time now) {
    due_ = now + heartbeat_;
    if (session_ != 0) link_->Report(node_.Report());
  }

  SimulatedNode node_;
  std::unique_ptr<agent::GrpcLink> link_;
  uint64_t session_ = 0;
  bool answered_ = false;
  absl::Duration heartbeat_ = absl::Seconds(1);
  absl::Time due_ = absl::InfiniteFuture();
};

using Agents = std::vector<std::unique_ptr<StormAgent>>;

// Waits until the coordinator has answered each agent in a session after the one that `after`
// names.
void AwaitAll(const Agents& agents, const std::vector<uint64_t>& after) {
  const absl::Time give_up = Now() + kLongest;
  size_t answered = 0;
  while (answered < agents.size()) {
    answered = 0;
    for (size_t i = 0; i < agents.size(); ++i) {
      agents[i]->Step(Now());
      if (agents[i]->answered() > after[i]) ++answered;
    }
    if (Now() > give_up) {
      Check(absl::DeadlineExceededError(absl::StrCat("only ", answered, " agents are connected")));
    }
    std::this_thread::sleep_for(absl::ToChronoMilliseconds(kLook));
  }
}

void Say(const char* line) {
  std::puts(line);
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  int count = 0;
  if (argc != 2 || !absl::SimpleAtoi(argv[1], &count) || count < 1 || count > kMaxAgents) {
    std::fprintf(stderr, "usage: reconnect_storm AGENTS < KEY (1 to %d agents)\n", kMaxAgents);
    return 2;
  }
  const security::JoinString key =
      Check(security::ParseJoinString(Check(common::ReadSecretInput("-", "Key: "))));
  Agents agents;
  for (int i = 0; i < count; ++i) {
    agents.push_back(std::make_unique<StormAgent>(key, i));
    for (const auto& agent : agents) agent->Step(Now());
  }
  AwaitAll(agents, std::vector<uint64_t>(agents.size()));
  std::vector<uint64_t> first;
  for (const auto& agent : agents) first.push_back(agent->answered());
  Say("connected");
  AwaitAll(agents, first);
  Say("reconnected");
  return 0;
}

}  // namespace
}  // namespace accel::bench

int main(int argc, char** argv) { return accel::bench::Main(argc, argv); }
