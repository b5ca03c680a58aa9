#include "agent/core/conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/status_matchers.h"

namespace accel::agent {
namespace {

using ::accel::testing::StatusIs;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

TEST(ToStart, DesiredVariablesReplaceTheAgentsOwn) {
  v1::DesiredGeneration desired;
  desired.mutable_key()->set_job_id("a");
  v1::EnvVar* shared = desired.add_env();
  shared->set_name("COLOR");
  shared->set_value("green");
  v1::DesiredWorker* worker = desired.add_workers();
  worker->set_rank(4);
  v1::EnvVar* own = worker->add_env();
  own->set_name("RANK");
  own->set_value("4");
  const auto start = ToStart(desired, {"HOME=/root", "COLOR=red", "broken"});
  ASSERT_OK(start);
  ASSERT_EQ(start->workers.size(), 1u);
  EXPECT_THAT(start->workers[0].env, UnorderedElementsAre("HOME=/root", "COLOR=green", "RANK=4"));
}

TEST(ToStart, SaysWhatOutlivesTheAgent) {
  v1::DesiredGeneration desired;
  EXPECT_FALSE(ToStart(desired, {})->keep_without_agent);
  desired.set_on_agent_loss(v1::KEEP);
  EXPECT_TRUE(ToStart(desired, {})->keep_without_agent);
  EXPECT_EQ(ToStart(desired, {})->stop_on_disconnect_after, absl::InfiniteDuration());
  desired.set_stop_on_disconnect_after_ms(7000);
  EXPECT_EQ(ToStart(desired, {})->stop_on_disconnect_after, absl::Seconds(7));
  desired.set_on_agent_loss(v1::END);
  EXPECT_FALSE(ToStart(desired, {})->keep_without_agent);
  desired.set_on_agent_loss(static_cast<v1::OnAgentLoss>(77));  // Known to a later version alone.
  EXPECT_TRUE(ToStart(desired, {})->keep_without_agent);
}

TEST(ToStart, HasTheHangTimeoutIfThereIsOne) {
  v1::DesiredGeneration desired;
  EXPECT_EQ(ToStart(desired, {})->hang_timeout, absl::ZeroDuration());
  desired.set_hang_timeout_ms(30'000);
  EXPECT_EQ(ToStart(desired, {})->hang_timeout, absl::Seconds(30));
}

TEST(ToStart, MoreThanOneStartCarriesIsRefusedWithBothSizes) {
  v1::DesiredGeneration desired;
  desired.mutable_key()->set_job_id("a");
  v1::EnvVar* large = desired.add_env();
  large->set_name("A");
  large->set_value(std::string((1 << 20) - 2, 'x'));
  for (int rank = 0; rank < 15; ++rank) desired.add_workers()->set_rank(rank);
  EXPECT_OK(ToStart(desired, {}));
  for (int rank = 15; rank < 1024; ++rank) desired.add_workers()->set_rank(rank);
  EXPECT_THAT(ToStart(desired, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("1024 workers"), HasSubstr("1073741824 together"),
                             HasSubstr("16777216"), HasSubstr("--env"))));
}

TEST(ToProto, KeepsEveryKindOfExit) {
  using Kind = shim::ExitFact::Kind;
  EXPECT_EQ(ToProto(shim::ExitFact{.kind = Kind::kExited, .code = 3}).code(), 3);
  EXPECT_EQ(ToProto(shim::ExitFact{.kind = Kind::kSignalled, .signal = 9}).kind(),
            v1::ExitRecord::SIGNALLED);
  EXPECT_EQ(ToProto(shim::ExitFact{.kind = Kind::kNotStarted}).kind(), v1::ExitRecord::NOT_STARTED);
  EXPECT_EQ(ToProto(shim::ExitFact{.kind = Kind::kShimDied}).kind(), v1::ExitRecord::SHIM_DIED);
  EXPECT_EQ(ToProto(shim::ExitFact{.kind = Kind::kAbandoned}).kind(), v1::ExitRecord::NODE_LOST);
  EXPECT_EQ(ToProto(shim::ExitFact{.kind = Kind::kHung}).kind(), v1::ExitRecord::HUNG);
  EXPECT_EQ(ToProto(shim::ExitFact{.kind = Kind::kUnknown}).kind(),
            v1::ExitRecord::KIND_UNSPECIFIED);
  EXPECT_EQ(ToProto(shim::ExitFact{.message = "no \xFF"}).message(), "no \xEF\xBF\xBD");
}

TEST(ToProto, AMessageOfControlBytesKeepsItsBoundThoughEachBecomesFour) {
  const v1::ExitRecord record =
      ToProto(shim::ExitFact{.message = std::string(4096, '\x01') + " ends."});
  EXPECT_LE(record.message().size(), 4096u);
  EXPECT_THAT(record.message(), EndsWith(" ends."));
}

}  // namespace
}  // namespace accel::agent
