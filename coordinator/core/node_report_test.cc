#include "coordinator/core/node_report.h"

#include <gtest/gtest.h>

#include <string>

#include "coordinator/core/node_report_fixture.h"

namespace accel::coordinator {
namespace {

v1::NodeObserved Report() {
  v1::NodeObserved report;
  report.set_node_id("a");
  report.set_sequence(1);
  report.mutable_inventory()->set_cpus(8);
  report.add_addresses("10.0.0.1");
  report.add_generations()->set_job_id("j");
  return report;
}

TEST(NodeReportTest, TheStateIsAllButTheDescription) {
  const google::protobuf::Descriptor& type = *v1::NodeObserved::GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    SCOPED_TRACE(type.field(i)->name());
    v1::NodeObserved changed = Report();
    Change(*type.field(i), &changed);
    const std::string expected =
        (DescribesNode(type.field(i)->number()) ? Report() : changed).SerializeAsString();
    v1::NodeObserved report = Report();
    MoveState(&changed, &report);
    EXPECT_EQ(report.SerializeAsString(), expected);
  }
}

TEST(NodeReportTest, ATextThatIsGoneIsGone) {
  v1::NodeObserved before = Report();
  before.set_goodbye("the host shuts down");
  before.set_refuses_work("no disk");
  v1::NodeObserved after = Report();
  MoveState(&after, &before);
  EXPECT_EQ(before.SerializeAsString(), Report().SerializeAsString());
}

TEST(NodeReportTest, AReportThatIsReplacedLeavesItsDescription) {
  const NodeReport older = Report();
  v1::NodeObserved whole = Report();
  whole.set_sequence(2);
  whole.set_goodbye("the host shuts down");
  whole.clear_generations();
  NodeReport newer = Partial(whole, News::kState);
  Replace(older, &newer);
  EXPECT_TRUE(newer.is_whole());
  EXPECT_EQ(newer.observed.SerializeAsString(), whole.SerializeAsString());
}

TEST(NodeReportTest, AWholeReportTakesNothingFromTheOneBefore) {
  const NodeReport older = Report();
  v1::NodeObserved whole = Report();
  whole.clear_addresses();
  NodeReport newer = v1::NodeObserved(whole);
  Replace(older, &newer);
  EXPECT_EQ(newer.observed.SerializeAsString(), whole.SerializeAsString());
}

TEST(NodeReportTest, TheStateTakesTheSpaceThatItMoves) {
  v1::NodeObserved small = Report();
  small.clear_generations();
  v1::NodeObserved large = small;
  for (int i = 0; i < 100; ++i) large.add_generations()->set_job_id(std::string(100, 'x'));
  large.set_goodbye(std::string(1000, 'x'));
  large.set_refuses_work(std::string(1000, 'x'));
  const auto more = SpaceOf(large) - SpaceOf(small);
  EXPECT_GT(more, 100 * 100 + 2000);
  EXPECT_NEAR(static_cast<double>(SpaceOfState(large) - SpaceOfState(small)),
              static_cast<double>(more), 100);
}

}  // namespace
}  // namespace accel::coordinator
