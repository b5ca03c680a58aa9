#include "agent/core/local_generations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "agent/core/report_texts.h"

namespace accel::agent {
namespace {

using ::testing::ElementsAre;
using Report = shim::GenerationReport;
using State = v1::ObservedGeneration;

common::GenerationId Id(const std::string& job, int generation) {
  return {common::JobId(job), generation};
}

Report ReportOf(const common::GenerationId& id, Report::State state) {
  Report report;
  report.id = id;
  report.state = state;
  return report;
}

TEST(LocalGenerations, AStateNeverLeadsBack) {
  LocalGenerations here;
  const LocalGeneration* local = here.Insert(Id("a", 1), State::STARTING);
  here.Update(ReportOf(Id("a", 1), Report::State::kRunning));
  EXPECT_EQ(local->observed.state(), State::RUNNING);
  here.Update(ReportOf(Id("a", 1), Report::State::kEnded));
  EXPECT_TRUE(local->ended());
  const uint64_t revision = here.revision();
  here.Update(ReportOf(Id("a", 1), Report::State::kRunning));
  EXPECT_TRUE(local->ended());
  EXPECT_EQ(here.revision(), revision);
}

TEST(LocalGenerations, AReportOfAnUnknownGenerationIsIgnored) {
  LocalGenerations here;
  here.Update(ReportOf(Id("a", 1), Report::State::kRunning));
  EXPECT_EQ(here.Find(Id("a", 1)), nullptr);
  EXPECT_EQ(here.revision(), 0u);
}

TEST(LocalGenerations, AnAdoptedGenerationHasTheGraceOfItsShim) {
  LocalGenerations here;
  Report report = ReportOf(Id("a", 2), Report::State::kRunning);
  report.orphan_grace = absl::Seconds(2);
  report.checkpoints = 3;
  here.Adopt(report);
  const LocalGeneration& local = *here.Find(Id("a", 2));
  EXPECT_EQ(local.observed.job_id(), "a");
  EXPECT_EQ(local.observed.generation(), 2);
  EXPECT_EQ(local.observed.checkpoints(), 3);
  EXPECT_EQ(local.orphan_grace, absl::Seconds(2));
  EXPECT_FALSE(local.to_start.has_value());
}

TEST(LocalGenerations, OnlyAnEndedGenerationIsForgotten) {
  LocalGenerations here;
  LocalGeneration* local = here.Insert(Id("a", 1), State::STARTING);
  here.Forget(Id("a", 1));
  EXPECT_TRUE(here.contains(Id("a", 1)));
  here.Step(local, State::ENDED);
  const uint64_t revision = here.revision();
  here.Forget(Id("a", 1));
  EXPECT_FALSE(here.contains(Id("a", 1)));
  EXPECT_GT(here.revision(), revision);
  here.Forget(Id("a", 1));
  EXPECT_EQ(here.revision(), revision + 1);
}

TEST(LocalGenerations, KnowsTheGenerationsOfAJob) {
  LocalGenerations here;
  EXPECT_FALSE(here.Newest(common::JobId("a")).has_value());
  here.Insert(Id("a", 1), State::ENDED);
  here.Insert(Id("a", 3), State::ENDED);
  here.Insert(Id("b", 1), State::RUNNING);
  EXPECT_EQ(here.Newest(common::JobId("a")), 3);
  EXPECT_FALSE(here.AnyIsAlive(common::JobId("a")));
  EXPECT_TRUE(here.AnyIsAlive(common::JobId("b")));
  EXPECT_FALSE(here.IsAlive(Id("a", 1)));
  EXPECT_FALSE(here.IsAlive(Id("b", 2)));
  EXPECT_TRUE(here.IsAlive(Id("b", 1)));
  EXPECT_THAT(here.jobs(), ElementsAre(common::JobId("a"), common::JobId("b")));
}

TEST(LocalGenerations, AGenerationThatWaitsForItsStartHoldsNothing) {
  LocalGenerations here;
  LocalGeneration* local = here.Insert(Id("a", 1), State::STARTING);
  local->to_start.emplace();
  EXPECT_FALSE(here.Holdings().processes);
  local->to_start.reset();
  EXPECT_TRUE(here.Holdings().processes);
  EXPECT_FALSE(here.Holdings().results);
  local->observed.add_workers();
  local->observed.add_workers();
  EXPECT_EQ(here.CountResults().generations, 0);
  here.Step(local, State::ENDED);
  EXPECT_FALSE(here.Holdings().processes);
  EXPECT_TRUE(here.Holdings().results);
  EXPECT_EQ(here.CountResults().generations, 1);
  EXPECT_EQ(here.CountResults().workers, 2);
}

TEST(LocalGenerations, TextsAreBoundedOverAllGenerations) {
  LocalGenerations here;
  const std::string line(1 << 20, 'x');
  for (int generation = 1; generation <= 8; ++generation) {
    Report report = ReportOf(Id("a", generation), Report::State::kEnded);
    report.workers.resize(1);
    report.workers[0].last_lines = {line};
    here.Adopt(report);
  }
  int64_t bytes = 0;
  for (const auto& [id, local] : here) bytes += TextBytes(local.observed);
  EXPECT_LE(bytes, LocalGenerations::kMaxTextBytes);
  EXPECT_EQ(here.CountResults().workers, 8);
}

}  // namespace
}  // namespace accel::agent
