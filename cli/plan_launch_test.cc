#include "cli/plan_launch.h"

#include <fstream>
#include <map>

#include "absl/strings/escaping.h"
#include "cli/fake_caller_context.h"
#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using ::accel::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// Plans a launch in /home/ann, which has the file ds.json.
absl::StatusOr<LaunchPlan> Plan(std::vector<std::string> args, bool is_test = false,
                                const std::map<std::string, std::string>& env = {}) {
  FakeCallerContext machine;
  machine.env = env;
  machine.env["HF_HOME"] = "/none";
  machine.files["/home/ann/ds.json"] = FileKind::kFile;
  LaunchFlags flags;
  flags.is_test = is_test;
  args.push_back("train.py");
  const absl::Status parsed = MakeLaunchFlagSet(&flags).Parse(args);
  return parsed.ok() ? PlanFor(flags, machine.Get()) : parsed;
}

TEST(PlanFor, DeepSpeedsFileExistsWhereTheJobStarts) {
  const auto plan = [](const std::string& file, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--use_deepspeed", "--num_processes", "1"});
    more.insert(more.end(), {"--deepspeed_config_file", file});
    return Plan(more).status();
  };
  EXPECT_OK(plan("ds.json"));
  EXPECT_OK(plan("none"));  // Accelerate's word for no file.
  EXPECT_OK(plan(absl::WebSafeBase64Escape("{\"zero_optimization\": {}}")));
  EXPECT_OK(plan("missing.json", {"--coordinator", "h:1"}));
  EXPECT_THAT(plan("missing.json"),
              StatusIs(kInvalid,
                       "--deepspeed_config_file is missing.json: there is no such file; "
                       "the path is relative to the working directory /home/ann"));
}

TEST(PlanFor, ACoordinatorsAddressIsChecked) {
  EXPECT_OK(Plan({"--cpu", "--coordinator", "unix:/run/c"}));
  EXPECT_THAT(Plan({"--cpu", "--coordinator", "h"}),
              StatusIs(kInvalid, HasSubstr("--coordinator is h: \"h\" has no port")));
}

// The surroundings of a process in a step of Slurm on two nodes.
const std::map<std::string, std::string> kSlurm = {{"SLURM_STEP_NUM_NODES", "2"},
                                                   {"SLURM_STEP_NUM_TASKS", "2"},
                                                   {"SLURM_JOB_NODELIST", "a,b"},
                                                   {"SLURM_PROCID", "0"}};

// Writes a file that names a coordinator and two machines, and returns the flag for it.
std::string ClusterFile() {
  const std::string path = ::testing::TempDir() + "/cluster.yaml";
  std::ofstream(path) << "distributed_type: MULTI_CPU\nnum_processes: 2\ncoordinator: h:1\n"
                         "num_machines: 2\n";
  return "--config_file=" + path;
}

TEST(PlanFor, ALaunchOfACallingProgramIgnoresTheCoordinatorOfAFile) {
  ASSERT_OK_AND_ASSIGN(LaunchPlan plan, Plan({ClusterFile()}));
  EXPECT_TRUE(plan.on_cluster);
  for (const char* flag : {"--end_file=f", "--parent=1"}) {
    ASSERT_OK_AND_ASSIGN(plan, Plan({ClusterFile(), flag}));
    EXPECT_FALSE(plan.on_cluster);
    EXPECT_EQ(plan.num_machines, 1);
    EXPECT_THAT(plan.notes, IsEmpty());
    ASSERT_OK_AND_ASSIGN(plan, Plan({"--cpu", flag}, /*is_test=*/false, kSlurm));
    EXPECT_EQ(plan.num_machines, 1);
  }
  // accel launch then refuses --end_file.
  ASSERT_OK_AND_ASSIGN(plan, Plan({ClusterFile(), "--end_file=f", "--coordinator=h:2"}));
  EXPECT_TRUE(plan.on_cluster);
}

TEST(PlanFor, ATestIsNoJobForACoordinator) {
  ASSERT_OK_AND_ASSIGN(LaunchPlan plan, Plan({ClusterFile()}, /*is_test=*/true));
  EXPECT_FALSE(plan.on_cluster);
  EXPECT_EQ(plan.num_machines, 1);
  EXPECT_THAT(plan.notes, ElementsAre(HasSubstr("cluster.yaml:3:1: coordinator has no effect")));
  EXPECT_THAT(Plan({"--cpu", "--coordinator", "h:1"}, /*is_test=*/true),
              StatusIs(kInvalid, HasSubstr("accel test shows what its processes print")));
  // Without a coordinator, the test is of every machine.
  ASSERT_OK_AND_ASSIGN(plan, Plan({"--cpu"}, /*is_test=*/true, kSlurm));
  EXPECT_EQ(plan.num_machines, 2);
}

}  // namespace
}  // namespace accel::cli
