// A fixture for tests: a coordinator's loop with a store and a clock that the test controls, and
// agents whose reports the test sends.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/simulated_clock.h"
#include "common/status_matchers.h"
#include "coordinator/coordinator_loop.h"
#include "coordinator/core/records.h"
#include "coordinator/observed_fixture.h"
#include "coordinator/store/faulty_store.h"

namespace accel::coordinator {

inline v1::JobSpec Spec() {
  v1::JobSpec spec;
  spec.add_argv("train");
  spec.set_nodes(1);
  return spec;
}

inline void AddGeneration(const std::string& job, int generation,
                          v1::ObservedGeneration::State state, v1::NodeObserved* observed) {
  v1::ObservedGeneration* part = observed->add_generations();
  part->set_job_id(job);
  part->set_generation(generation);
  part->set_state(state);
  v1::ObservedWorker* worker = part->add_workers();
  if (state != v1::ObservedGeneration::ENDED) return;
  worker->mutable_exit()->set_kind(v1::ExitRecord::EXITED);
}

// An agent and everything that it received from the coordinator.
struct ConnectedAgent {
  std::vector<std::shared_ptr<const v1::NodeDesired>> desired;
  std::optional<absl::Status> closed;
  std::unique_ptr<AgentSession> session;
};

inline std::shared_ptr<ConnectedAgent> Connect(Coordinator* coordinator,
                                               const Caller& caller = Owner()) {
  auto agent = std::make_shared<ConnectedAgent>();
  AgentCallbacks callbacks;
  callbacks.on_desired = [agent](const DesiredPtr& desired) {
    agent->desired.push_back(std::make_shared<const v1::NodeDesired>(Whole(*desired)));
  };
  callbacks.on_closed = [agent](absl::Status status) { agent->closed = status; };
  agent->session = coordinator->OpenAgentSession(caller, std::move(callbacks));
  return agent;
}

class CoordinatorLoopTest : public ::testing::Test {
 protected:
  CoordinatorLoopTest() {
    EXPECT_OK(loop_.Load());
    Settle();
  }

  CoordinatorLoop::Options Options() {
    CoordinatorLoop::Options options;
    options.store = &store_;
    options.clock = &clock_;
    options.wall_clock = [] { return absl::FromUnixSeconds(1'800'000'000); };
    return options;
  }

  // Runs the loop until it rests, and lets every commit succeed.
  void Settle() { Settle(&loop_); }
  void Settle(CoordinatorLoop* loop) {
    loop->RunOnce();
    while (store_.pending().has_value()) {
      store_.Succeed();
      loop->RunOnce();
    }
  }

  // Returns the jobs in the commit in progress, without their specs and generations.
  std::vector<v1::Job> Committing() const {
    std::vector<v1::Job> jobs;
    const std::optional<RowBatch> batch = store_.pending();
    for (const Row& row : batch->put) {
      const absl::StatusOr<RowKey> key = ParseRowKey(row.key);
      if (!key.ok() || key->kind != RowKey::Kind::kState) continue;
      v1::StoredJob stored;
      EXPECT_TRUE(stored.ParseFromString(row.value));
      jobs.push_back(stored.job());
    }
    return jobs;
  }

  // Submits a job and runs the loop. The answer is stored in *result once it arrives.
  void Submit(const std::string& submit_id, std::optional<absl::StatusOr<common::JobId>>* result) {
    loop_.SubmitJob(Owner(), submit_id, Spec(),
                    [result](absl::StatusOr<common::JobId> job) { *result = job; });
    loop_.RunOnce();
  }

  FaultyStore store_;
  common::SimulatedClock clock_;
  CoordinatorLoop loop_{Options()};
};

}  // namespace accel::coordinator
