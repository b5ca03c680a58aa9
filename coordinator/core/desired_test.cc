#include "coordinator/core/desired.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace accel::coordinator {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::shared_ptr<const SharedStart> Shared() {
  v1::DesiredGeneration shared;
  shared.add_argv("./train");
  shared.add_argv(std::string(300, 'x'));  // Its length takes two bytes.
  shared.set_workdir("/home/ann");
  v1::EnvVar* variable = shared.add_env();
  variable->set_name("LR");
  variable->set_value("0.1");
  return std::make_shared<const SharedStart>(std::move(shared));
}

DesiredPart Part(const std::string& job, std::shared_ptr<const SharedStart> shared) {
  DesiredPart part;
  part.own.mutable_key()->set_job_id(job);
  part.own.mutable_key()->set_generation(3);
  part.shared = std::move(shared);
  return part;
}

std::string Encoded(const Desired& desired) {
  std::string bytes;
  Encode(desired, [&bytes](size_t size) {
    bytes.resize(size);
    return reinterpret_cast<uint8_t*>(bytes.data());
  });
  return bytes;
}

TEST(DesiredTest, APartHasItsOwnFieldsAndTheSharedOnes) {
  Desired desired;
  desired.node.set_version(7);
  desired.node.add_close_sockets(5);
  const auto shared = Shared();
  desired.generations.push_back(Part("a", shared));
  desired.generations.push_back(Part("b", shared));
  v1::EnvVar* variable = desired.generations[1].own.add_env();
  variable->set_name("GROUP_RANK");
  variable->set_value("1");

  const v1::NodeDesired whole = Whole(desired);
  EXPECT_EQ(whole.version(), 7u);
  EXPECT_THAT(whole.close_sockets(), ElementsAre(5));
  ASSERT_EQ(whole.generations_size(), 2);
  for (const v1::DesiredGeneration& each : whole.generations()) {
    EXPECT_EQ(each.key().generation(), 3);
    EXPECT_THAT(each.argv(), ElementsAre("./train", std::string(300, 'x')));
    EXPECT_EQ(each.workdir(), "/home/ann");
  }
  EXPECT_EQ(whole.generations(0).key().job_id(), "a");
  EXPECT_EQ(whole.generations(1).key().job_id(), "b");
  // The lists of both are concatenated.
  EXPECT_EQ(whole.generations(0).env_size(), 1);
  EXPECT_EQ(whole.generations(1).env_size(), 2);
}

TEST(DesiredTest, APartMayHaveAllFieldsItself) {
  Desired desired;
  desired.generations.push_back(Part("a", nullptr));
  desired.generations.back().own.set_stop(true);
  const v1::NodeDesired whole = Whole(desired);
  ASSERT_EQ(whole.generations_size(), 1);
  EXPECT_TRUE(whole.generations(0).stop());
  EXPECT_THAT(whole.generations(0).argv(), IsEmpty());
}

TEST(DesiredTest, IsEncodedAsTheWholeMessageWouldBe) {
  Desired desired;
  desired.node.set_version(7);
  desired.generations.push_back(Part("a", Shared()));
  desired.generations.push_back(Part("b", nullptr));
  v1::NodeDesired parsed;
  ASSERT_TRUE(parsed.ParseFromString(Encoded(desired)));
  EXPECT_EQ(parsed.SerializeAsString(), Whole(desired).SerializeAsString());
}

// The last variable of a name wins in the agent.
TEST(DesiredTest, AVariableOfTheNodeFollowsTheSharedOnes) {
  Desired desired;
  desired.generations.push_back(Part("a", Shared()));
  v1::EnvVar* variable = desired.generations[0].own.add_env();
  variable->set_name("LR");
  variable->set_value("0.2");
  v1::NodeDesired parsed;
  ASSERT_TRUE(parsed.ParseFromString(Encoded(desired)));
  for (const v1::NodeDesired& each : {parsed, Whole(desired)}) {
    ASSERT_EQ(each.generations(0).env_size(), 2);
    EXPECT_EQ(each.generations(0).env(1).value(), "0.2");
  }
}

TEST(DesiredTest, TheWholeMayHaveTextsThatAreNotUtf8) {
  v1::DesiredGeneration shared;
  shared.add_argv("a\xff");
  Desired desired;
  desired.generations.push_back(Part("a", std::make_shared<const SharedStart>(std::move(shared))));
  EXPECT_EQ(Whole(desired).generations(0).argv(0), "a\xff");
}

}  // namespace
}  // namespace accel::coordinator
