// A fixture for tests of an agent. It has the agent's dependencies, and makes the desired states
// that a test sends.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "agent/agent.h"
#include "agent/fake_link.h"
#include "common/simulated_clock.h"
#include "shim/host/fake_shim_host.h"

namespace accel::agent {

class AgentFixture : public ::testing::Test {
 protected:
  static v1::NodeObserved Identity() {
    v1::NodeObserved identity;
    identity.set_node_id("n1");
    identity.set_incarnation("i1");
    return identity;
  }

  // Returns the dependencies of an agent, with the given relays and link instead of
  // the fixture's own.
  Agent::Dependencies With(LogRelays* relays, FakeLink* link) {
    return {.shims = &shims_,
            .link = link,
            .store_sockets = &sockets_,
            .relays = relays,
            .clock = &clock_};
  }

  // Each desired state has a higher version than the one before.
  v1::NodeDesired Start(const std::string& job) {
    v1::NodeDesired desired;
    desired.set_version(++version_);
    desired.set_incarnation("i1");
    v1::DesiredGeneration* start = desired.add_generations();
    start->mutable_key()->set_job_id(job);
    start->mutable_key()->set_generation(1);
    start->add_workers();
    return desired;
  }

  v1::NodeDesired Forget(const std::string& job) {
    v1::NodeDesired forget;
    forget.set_incarnation("i1");
    *forget.add_forget() = Start(job).generations(0).key();
    forget.set_version(++version_);
    return forget;
  }

  // Runs a turn of the agent and returns the last reported state. If the agent holds its report of
  // a generation that starts, lets that time pass.
  const v1::NodeObserved& Turn(Agent* agent) {
    EXPECT_TRUE(agent->RunOnce().ok());
    const v1::NodeObserved now = agent->state().Observed(link_.max_report_bytes());
    if (std::any_of(now.generations().begin(), now.generations().end(), [this](const auto& part) {
          return part.state() == v1::ObservedGeneration::STARTING && !IsReported(part);
        })) {
      clock_.Advance(absl::Milliseconds(20));
      EXPECT_TRUE(agent->RunOnce().ok());
    }
    return link_.reports.back();
  }

  bool IsReported(const v1::ObservedGeneration& part) const {
    const auto& reported = link_.reports.back().generations();
    return std::any_of(reported.begin(), reported.end(), [&part](const auto& each) {
      return each.job_id() == part.job_id() && each.generation() == part.generation();
    });
  }

  shim::FakeShimHost shims_;
  FakeLink link_;
  common::SimulatedClock clock_;
  StoreSockets sockets_{"127.0.0.1", 2};
  uint64_t version_ = 0;
};

}  // namespace accel::agent
