#include "agent/core/conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace accel {
namespace {

using ::testing::UnorderedElementsAre;

TEST(ToStart, LaysTheDesiredVariablesOverTheAgentsOwn) {
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
  const GenerationStart start = ToStart(desired, {"HOME=/root", "COLOR=red", "broken"});
  ASSERT_EQ(start.workers.size(), 1u);
  EXPECT_THAT(start.workers[0].env, UnorderedElementsAre("HOME=/root", "COLOR=green", "RANK=4"));
}

TEST(ToProto, KeepsEveryKindOfExit) {
  using Kind = ExitFact::Kind;
  EXPECT_EQ(ToProto(ExitFact{.kind = Kind::kExited, .code = 3}).code(), 3);
  EXPECT_EQ(ToProto(ExitFact{.kind = Kind::kSignalled, .signal = 9}).kind(),
            v1::ExitRecord::SIGNALLED);
  EXPECT_EQ(ToProto(ExitFact{.kind = Kind::kNotStarted}).kind(), v1::ExitRecord::NOT_STARTED);
  EXPECT_EQ(ToProto(ExitFact{.kind = Kind::kShimDied}).kind(), v1::ExitRecord::SHIM_DIED);
  EXPECT_EQ(ToProto(ExitFact{.message = "no \xFF"}).message(), "no \xEF\xBF\xBD");
}

}  // namespace
}  // namespace accel
