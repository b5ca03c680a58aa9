#include "cli/config/render_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace accel::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(RenderPlan, ShowsNodesCommandAndVariables) {
  LaunchPlan plan;
  plan.num_machines = 2;
  plan.processes = {2, 1};
  plan.cpu = true;
  const std::string text = RenderPlan(plan, {"/bin/sh", "-c", "it's"}, {{"A", "b\n"}});
  EXPECT_THAT(text, StartsWith("node 0: 2 processes, ranks 0 to 1, on CPUs\n"
                               "node 1: 1 process, rank 2, on CPUs\n\n"
                               "Command of each process:\n  /bin/sh -c 'it'\\''s'\n"));
  EXPECT_THAT(text, HasSubstr("  A=b\\n\n"));
  EXPECT_THAT(text, HasSubstr("  WORLD_SIZE=3\n"));
  EXPECT_THAT(text, HasSubstr("  RANK=1 LOCAL_RANK=1 ROLE_RANK=1\n"));
}

TEST(RenderPlan, NamesTheGpuOfEachProcess) {
  LaunchPlan plan;
  plan.processes = {2};
  plan.local_gpus = {0, 3};
  const std::string text = RenderPlan(plan, {"train"}, {});
  EXPECT_THAT(text, StartsWith("node 0: 2 processes, ranks 0 to 1, on GPUs 0, 3\n"));
  EXPECT_THAT(text, HasSubstr("  CUDA_VISIBLE_DEVICES=0,3\n"));
  EXPECT_THAT(text, HasSubstr("  RANK=1 LOCAL_RANK=1 ROLE_RANK=1 (GPU 3)\n"));
  EXPECT_THAT(RenderPlanAsJson(plan, {"train"}, {}), HasSubstr("\"gpus\": [0, 3]"));
}

TEST(RenderPlan, SaysHowManyNodesHaveAnUnknownNumberOfProcesses) {
  LaunchPlan plan;
  plan.num_machines = 3;
  EXPECT_THAT(RenderPlan(plan, {"train"}, {}),
              StartsWith("3 nodes, on each one process per GPU, or one\n"));
  EXPECT_THAT(RenderPlanAsJson(plan, {"train"}, {}),
              HasSubstr("\"nodes\": 3, \"processes_per_node\": []"));
}

TEST(RenderPlan, OneProcessHasNoRank) {
  LaunchPlan plan;
  plan.processes = {1};
  const std::string text = RenderPlan(plan, {"train"}, {});
  EXPECT_THAT(text, StartsWith("node 0: 1 process, rank 0\n"));
  EXPECT_THAT(text, Not(HasSubstr(" RANK=")));
}

}  // namespace
}  // namespace accel::cli
