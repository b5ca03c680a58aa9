#include "agent/core/output_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"

namespace accel::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class OutputBudgetTest : public ::testing::Test {
 protected:
  void Add(const std::string& job, int generation, int64_t bytes) {
    GenerationOutput& output = outputs_.emplace_back();
    output.job = common::JobId(job);
    output.generation = generation;
    output.folder = absl::StrCat(job, generation);
    output.bytes = bytes;
  }
  // Adds the newest generation of a job that runs.
  void AddLive(const std::string& job, int generation,
               const std::vector<std::vector<int64_t>>& streams) {
    Add(job, generation, 0);
    GenerationOutput& output = outputs_.back();
    output.live = true;
    live_.insert(output.job);
    for (size_t stream = 0; stream < streams.size(); ++stream) {
      StreamFiles& files = output.streams.emplace_back();
      for (size_t i = 0; i < streams[stream].size(); ++i) {
        files.push_back({absl::StrCat(job, ".", stream, ".", i), streams[stream][i]});
        output.bytes += streams[stream][i];
      }
    }
  }
  void Plan(int64_t max_bytes) { plan_ = PlanRemovals(outputs_, live_, max_bytes); }
  std::vector<std::string> Folders() const {
    std::vector<std::string> folders;
    for (const GenerationOutput& output : plan_.generations) folders.push_back(output.folder);
    return folders;
  }

  std::vector<GenerationOutput> outputs_;
  std::set<common::JobId> live_;
  OutputRemovals plan_;
};

TEST_F(OutputBudgetTest, WhatFitsStays) {
  Add("a", 1, 10);
  AddLive("b", 1, {{5, 5, 5, 5, 5}});
  Plan(35);
  EXPECT_THAT(Folders(), IsEmpty());
  EXPECT_THAT(plan_.segments, IsEmpty());
  EXPECT_EQ(plan_.excess, 0);
}

TEST_F(OutputBudgetTest, TheOldestFinishedJobGoesFirstThenOldGenerations) {
  AddLive("b", 3, {{10}});
  Add("b", 2, 10);
  Add("b", 1, 10);
  Add("c", 1, 10);
  Add("a", 2, 10);
  Add("a", 1, 10);
  Plan(59);
  EXPECT_THAT(Folders(), ElementsAre("a1"));
  Plan(31);
  EXPECT_THAT(Folders(), ElementsAre("a1", "a2", "c1"));
  Plan(20);
  EXPECT_THAT(Folders(), ElementsAre("a1", "a2", "c1", "b1"));
  Plan(10);
  EXPECT_THAT(Folders(), ElementsAre("a1", "a2", "c1", "b1", "b2"));
  EXPECT_EQ(plan_.bytes, 50);
}

TEST_F(OutputBudgetTest, TheLargestStreamLosesItsMiddle) {
  AddLive("a", 1, {{4, 4, 4, 4, 4, 1}, {4, 4, 4, 1}});
  Plan(34 - 5);
  EXPECT_THAT(plan_.segments, ElementsAre("a.0.1", "a.0.2"));
  Plan(34 - 11);
  EXPECT_THAT(plan_.segments, ElementsAre("a.0.1", "a.0.2", "a.1.1"));
  EXPECT_EQ(plan_.excess, 0);
}

// The first segment and the newest two are never touched, so a budget may be exceeded.
TEST_F(OutputBudgetTest, SaysWhatCannotBeRemoved) {
  AddLive("a", 1, {{4, 4, 4, 4}, {4, 4, 4}});
  Plan(10);
  EXPECT_THAT(plan_.segments, ElementsAre("a.0.1"));
  EXPECT_EQ(plan_.excess, 14);
}

}  // namespace
}  // namespace accel::agent
