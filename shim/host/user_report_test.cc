#include "shim/host/user_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace accel::shim {
namespace {

using ::testing::ElementsAre;

ShimRecord Record() {
  ShimRecord record;
  record.generation = 3;
  record.ranks = {4, 5};
  record.log_dir = "/jobs/a/gen_3";
  record.orphan_grace = absl::Seconds(5);
  return record;
}

GenerationReport Honest() {
  GenerationReport report = ReportFrom(common::JobId("a"), Record());
  report.state = GenerationReport::State::kRunning;
  report.workers[0].pid = 7;
  report.workers[1].exit = ExitFact{.code = 3, .message = "it failed"};
  report.workers[1].last_lines = {"one", "two"};
  report.checkpoints = 2;
  return report;
}

TEST(BelievedTest, AnHonestReportIsKept) {
  const GenerationReport report = Believed(Honest(), Record());
  EXPECT_EQ(report.id, Honest().id);
  EXPECT_EQ(report.state, GenerationReport::State::kRunning);
  EXPECT_EQ(report.workers[0].pid, 7);
  EXPECT_EQ(report.workers[1].exit->code, 3);
  EXPECT_EQ(report.workers[1].exit->message, "it failed");
  EXPECT_THAT(report.workers[1].last_lines, ElementsAre("one", "two"));
  EXPECT_EQ(report.checkpoints, 2);
}

TEST(BelievedTest, FilesAndRanksAreThoseOfTheRecord) {
  GenerationReport said = Honest();
  said.log_dir = "/jobs/of_another/gen_1";
  said.orphan_grace = absl::InfiniteDuration();
  said.workers[0].rank = 900;
  said.workers.resize(1000);
  const GenerationReport report = Believed(said, Record());
  EXPECT_EQ(report.log_dir, Record().log_dir);
  EXPECT_EQ(report.orphan_grace, absl::Seconds(5));
  ASSERT_EQ(report.workers.size(), 2u);
  EXPECT_EQ(report.workers[0].rank, 4);
  said.workers.clear();
  EXPECT_EQ(Believed(said, Record()).workers.size(), 2u);
}

TEST(BelievedTest, TextsArePrintableAndBounded) {
  GenerationReport said = Honest();
  said.failure = ExitFact{.message = std::string(1 << 20, '\xff')};
  said.workers[0].last_lines.assign(200, std::string(10'000, '\x01'));
  said.workers[1].last_lines.assign(200, "line");
  said.checkpoints = -1;
  said.refused_peers = -1;
  const GenerationReport report = Believed(said, Record());
  EXPECT_LE(report.failure->message.size(), 4096u);
  EXPECT_EQ(report.failure->message.substr(0, 3), "\xEF\xBF\xBD");
  ASSERT_EQ(report.workers[0].last_lines.size(), 1u) << "all lines together are bounded";
  EXPECT_LE(report.workers[0].last_lines[0].size(), 4096u);
  EXPECT_EQ(report.workers[1].last_lines.size(), 20u);
  EXPECT_EQ(report.checkpoints, 0);
  EXPECT_EQ(report.refused_peers, 0);
}

}  // namespace
}  // namespace accel::shim
