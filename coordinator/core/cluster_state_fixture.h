// A fixture for tests of the coordinator's core: a cluster's state and a time, which the test
// changes by submits, by reports of nodes and by the planner.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "coordinator/core/cluster_state.h"
#include "coordinator/core/observe.h"
#include "coordinator/core/planner.h"
#include "coordinator/core/requests.h"

namespace accel::coordinator {

inline v1::JobSpec Spec(int nodes = 1, size_t argument_bytes = 1) {
  v1::JobSpec spec;
  spec.add_argv(std::string(argument_bytes, 'x'));
  spec.set_nodes(nodes);
  return spec;
}

inline v1::NodeObserved Observed(const std::string& node, uint64_t sequence,
                                 const std::string& incarnation = "1") {
  v1::NodeObserved observed;
  observed.set_node_id(node);
  observed.set_name(node);
  observed.set_incarnation(incarnation);
  observed.set_boot_id(incarnation);
  observed.set_address(node);
  observed.set_sequence(sequence);
  return observed;
}

inline v1::ObservedGeneration* AddEnded(const common::JobId& job, common::Generation generation,
                                        v1::NodeObserved* observed) {
  v1::ObservedGeneration* part = observed->add_generations();
  part->set_job_id(job.value());
  part->set_generation(generation);
  part->set_state(v1::ObservedGeneration::ENDED);
  return part;
}

class ClusterStateTest : public ::testing::Test {
 protected:
  absl::StatusOr<common::JobId> Submit(int nodes = 1, size_t argument_bytes = 1) {
    return Submit(absl::StrCat("s", ++submits_), Spec(nodes, argument_bytes));
  }

  absl::StatusOr<common::JobId> Submit(const std::string& submit_id, const v1::JobSpec& spec) {
    return SubmitJob(submit_id, spec, now_, &state_, &changes_);
  }

  absl::Status Report(SessionId session, const NodeReport& report) {
    return Observe(session, report, now_, &state_, &changes_, &superseded_);
  }

  absl::Status Report(const std::string& node, SessionId session, uint64_t sequence,
                      const std::string& incarnation = "1") {
    return Report(session, Observed(node, sequence, incarnation));
  }

  Plan Rest() { return PlanToRest(now_, now_, &state_, &changes_); }
  const v1::Job& Job(const common::JobId& id) { return state_.jobs.at(id).job; }

  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  ClusterState state_;
  Changes changes_;
  SessionId superseded_ = 0;
  int submits_ = 0;
};

}  // namespace accel::coordinator
