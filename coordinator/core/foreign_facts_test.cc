#include "coordinator/core/foreign_facts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace accel::coordinator {
namespace {

void Add(const std::string& job, int generation, v1::NodeObserved* report) {
  v1::ObservedGeneration* part = report->add_generations();
  part->set_job_id(job);
  part->set_generation(generation);
}

TEST(ForeignFactsTest, ANodeSpeaksOnlyForGenerationsThatItHas) {
  ClusterState state;
  v1::Job& job = state.jobs[common::JobId("j")].job;
  for (const char* node : {"a", "b"}) {
    v1::GenerationRecord* record = job.add_generations();
    record->set_generation(job.generations_size());
    record->add_placements()->set_node_id(node);
  }
  v1::NodeObserved report;
  report.set_node_id("a");
  Add("j", 1, &report);
  Add("j", 2, &report);  // Of node b.
  Add("j", 3, &report);  // Unknown.
  Add("other", 1, &report);
  EXPECT_EQ(DropForeignGenerations(state, state.nodes[common::NodeId("a")], &report), 1);
  ASSERT_EQ(report.generations_size(), 3);
  EXPECT_EQ(report.generations(0).generation(), 1);
  EXPECT_EQ(report.generations(1).generation(), 3);
  EXPECT_EQ(report.generations(2).job_id(), "other");
}

// The index of a node has the machine rank in the current generation. An older generation may have
// had another node there.
TEST(ForeignFactsTest, TheIndexOfANodeDecidesOnlyAboutTheGenerationThatItIsFor) {
  ClusterState state;
  JobEntry& entry = state.jobs[common::JobId("j")];
  for (const std::vector<std::string>& nodes :
       {std::vector<std::string>{"b", "c"}, std::vector<std::string>{"b", "a"}}) {
    v1::GenerationRecord* record = entry.job.add_generations();
    record->set_generation(entry.job.generations_size());
    for (const std::string& node : nodes) record->add_placements()->set_node_id(node);
  }
  state.nodes[common::NodeId("a")].jobs[common::JobId("j")] = 1;
  v1::NodeObserved report;
  report.set_node_id("a");
  Add("j", 1, &report);  // Of nodes b and c.
  Add("j", 2, &report);
  EXPECT_EQ(DropForeignGenerations(state, state.nodes[common::NodeId("a")], &report), 1);
  ASSERT_EQ(report.generations_size(), 1);
  EXPECT_EQ(report.generations(0).generation(), 2);
}

}  // namespace
}  // namespace accel::coordinator
