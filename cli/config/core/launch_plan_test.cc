#include "cli/config/core/launch_plan.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "cli/config/core/read_value.h"
#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using ::accel::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

using Flags = std::vector<std::pair<const char*, const char*>>;

HostFacts Host(std::optional<int> gpus = 0) {
  HostFacts host;
  host.gpus = gpus;
  host.physical_cores = 8;
  host.env = [](const std::string&) { return std::nullopt; };
  return host;
}

// Plans a launch with a file, unless `text` is empty, and flags.
absl::StatusOr<LaunchPlan> Plan(const std::string& text, const Flags& given,
                                const HostFacts& host = Host()) {
  std::optional<ConfigFile> file;
  if (!text.empty()) {
    auto read = ReadConfig("f", text);
    if (!read.ok()) return read.status();
    file = *std::move(read);
  }
  std::vector<FlagSetting> flags;
  for (const auto& [name, value] : given) {
    flags.push_back({&GetSetting(name), *ReadFlagValue(GetSetting(name), value)});
  }
  return PlanLaunch(EffectiveSettings(std::move(file), flags), host);
}

TEST(PlanLaunch, AFlagWinsOverTheFile) {
  ASSERT_OK_AND_ASSIGN(const LaunchPlan plan,
                       Plan("distributed_type: NO\nnum_processes: 4\nmixed_precision: bf16\n",
                            {{"num_processes", "2"}, {"mixed_precision", "no"}}));
  EXPECT_THAT(plan.processes, ElementsAre(2));
  EXPECT_EQ(plan.mixed_precision, "no");
}

TEST(PlanLaunch, LeavesProcessesOpenIfTheGpusAreNotKnown) {
  ASSERT_OK_AND_ASSIGN(const LaunchPlan plan, Plan("", {}, Host(std::nullopt)));
  EXPECT_THAT(plan.processes, IsEmpty());
}

TEST(PlanLaunch, DividesThreadsOfACpuJob) {
  ASSERT_OK_AND_ASSIGN(const LaunchPlan plan, Plan("", {{"cpu", "true"}, {"num_processes", "2"}}));
  EXPECT_THAT(plan.env, Contains(Pair("OMP_NUM_THREADS", "4")));
}

TEST(PlanLaunch, TakesStreamsAsTorchrunDoes) {
  ASSERT_OK_AND_ASSIGN(const LaunchPlan plan, Plan("", {{"cpu", "true"}, {"tee", "0:2"}}));
  EXPECT_TRUE(plan.tee.Has(0, /*is_stdout=*/false));
  EXPECT_THAT(plan.notes, IsEmpty());
  EXPECT_THAT(Plan("", {{"cpu", "true"}, {"tee", "7"}}).status(),
              StatusIs(kInvalid, HasSubstr("--tee is 7: it must be 0 (nothing)")));
}

TEST(PlanLaunch, SaysWhatAFileCannotHave) {
  EXPECT_THAT(Plan("distributed_type: MULTI_NPU\n", {}),
              StatusIs(kInvalid, HasSubstr("f:1:1: distributed_type is MULTI_NPU: accel drives")));
  EXPECT_THAT(Plan("distributed_type: MULTI_CPU\nnum_processes: 0\n", {}),
              StatusIs(kInvalid, HasSubstr("f:2:1: num_processes is 0: it must be")));
  EXPECT_THAT(
      Plan("distributed_type: MULTI_CPU\nnum_processes: 1\nnum_machines: 2\nmain_process_ip: a\n",
           {}),
      StatusIs(kInvalid, HasSubstr("counts the processes of all machines")));
  EXPECT_THAT(Plan("", {{"tpu", "true"}}), StatusIs(kInvalid, "--tpu: accel does not drive TPUs"));
}

TEST(PlanLaunch, NotesSectionsWithoutEffect) {
  ASSERT_OK_AND_ASSIGN(
      const LaunchPlan plan,
      Plan("distributed_type: NO\nfsdp_config:\n  fsdp_version: 2\n", {{"fp8_margin", "3"}}));
  EXPECT_THAT(plan.notes,
              ElementsAre(AllOf(HasSubstr("f:3:3: fsdp_version has no effect"), HasSubstr("FSDP")),
                          HasSubstr("--fp8_margin has no effect without mixed_precision: fp8")));
}

TEST(PlanLaunch, SeveralMachinesNeedNoRankWithACoordinator) {
  ASSERT_OK_AND_ASSIGN(
      const LaunchPlan plan,
      Plan("", {{"num_processes", "7"}, {"num_machines", "2"}, {"coordinator", "h:1"}}));
  EXPECT_THAT(plan.processes, ElementsAre(4, 3));
  EXPECT_EQ(plan.coordinator, "h:1");
}

TEST(PlanLaunch, NamesTheGpusOfAJobOnThisMachine) {
  HostFacts host = Host(3);
  host.gpu_indexes = {5, 3, 1};
  const Flags two = {{"multi_gpu", "true"}, {"num_processes", "2"}};
  ASSERT_OK_AND_ASSIGN(LaunchPlan plan, Plan("", two, host));
  EXPECT_THAT(plan.local_gpus, ElementsAre(1, 3));
  Flags named = two;
  named.emplace_back("gpu_ids", "5,3");
  ASSERT_OK_AND_ASSIGN(plan, Plan("", named, host));
  EXPECT_THAT(plan.local_gpus, ElementsAre(3, 5));
  Flags elsewhere = two;
  elsewhere.emplace_back("coordinator", "h:1");
  ASSERT_OK_AND_ASSIGN(plan, Plan("", elsewhere, host));
  EXPECT_THAT(plan.local_gpus, IsEmpty());
  ASSERT_OK_AND_ASSIGN(plan, Plan("", {{"multi_gpu", "true"}, {"num_processes", "4"}}, host));
  EXPECT_THAT(plan.local_gpus, IsEmpty());  // They are too few, which the launch says.
}

TEST(PlanLaunch, CountsDevicesAsTorchrunDoes) {
  HostFacts host = Host(3);
  host.cpus = 16;
  const auto count = [&host](const char* word, Flags more = {}) {
    more.emplace_back("nproc_per_node", word);
    const auto plan = Plan("", more, host);
    EXPECT_OK(plan) << word;
    return plan.ok() ? plan->processes : std::vector<int>();
  };
  EXPECT_THAT(count("gpu"), ElementsAre(3));
  EXPECT_THAT(count("AUTO"), ElementsAre(3));
  EXPECT_THAT(count("cpu", {{"cpu", "true"}}), ElementsAre(16));
  EXPECT_THAT(count("auto", {{"cpu", "true"}}), ElementsAre(16));
  EXPECT_THAT(count("gpu", {{"num_machines", "2"}, {"main_process_ip", "h"}}), ElementsAre(3, 3));
  EXPECT_THAT(count("gpu", {{"coordinator", "h:1"}}), IsEmpty());  // The nodes count.
  host.gpus = 0;  // A machine from which people only submit jobs.
  EXPECT_THAT(count("gpu", {{"coordinator", "h:1"}}), IsEmpty());
  EXPECT_THAT(Plan("", {{"nproc_per_node", "gpu"}, {"coordinator", "h:1"}, {"cpu", "true"}}),
              StatusIs(kInvalid, HasSubstr("the job uses no GPU; give a number")));
  EXPECT_THAT(Plan("", {{"nproc_per_node", "auto"}, {"coordinator", "h:1"}}),
              StatusIs(kInvalid, HasSubstr("the nodes of a cluster may differ")));
  EXPECT_THAT(Plan("", {{"nproc_per_node", "gpu"}}, Host(0)),
              StatusIs(kInvalid, HasSubstr("--nproc_per_node is gpu: this machine has no GPU")));
}

TEST(PlanLaunch, ProcessesPerCpuTrainOnCpus) {
  HostFacts host = Host(2);
  host.cpus = 16;
  const std::pair<const char*, const char*> cpu = {"nproc_per_node", "CPU"};
  ASSERT_OK_AND_ASSIGN(LaunchPlan plan, Plan("", {cpu}, host));
  EXPECT_TRUE(plan.cpu);
  EXPECT_EQ(plan.paradigm, Paradigm::kPlain);
  EXPECT_THAT(plan.processes, ElementsAre(16));
  ASSERT_OK_AND_ASSIGN(plan, Plan("distributed_type: NO\n", {cpu}, host));
  EXPECT_TRUE(plan.cpu);
  ASSERT_OK_AND_ASSIGN(plan, Plan("distributed_type: MULTI_GPU\n", {cpu, {"cpu", "true"}}, host));
  EXPECT_TRUE(plan.cpu);
  EXPECT_THAT(Plan("", {cpu, {"multi_gpu", "true"}}, host),
              StatusIs(kInvalid,
                       "--nproc_per_node is CPU: --multi_gpu asks for GPUs; give a "
                       "number, or gpu, or --cpu to train on CPUs"));
  EXPECT_THAT(Plan("distributed_type: FSDP\n", {cpu}, host),
              StatusIs(kInvalid, HasSubstr("f:1:1: distributed_type asks for GPUs")));
  EXPECT_THAT(Plan("", {cpu, {"gpu_ids", "0,1"}}, host),
              StatusIs(kInvalid, HasSubstr("--gpu_ids asks for GPUs")));
  ASSERT_OK_AND_ASSIGN(plan,
                       Plan("distributed_type: MULTI_CPU\n", {{"nproc_per_node", "auto"}}, host));
  EXPECT_THAT(plan.processes, ElementsAre(16));
  EXPECT_THAT(Plan("distributed_type: MULTI_CPU\n", {{"nproc_per_node", "gpu"}}, host),
              StatusIs(kInvalid, HasSubstr("the job uses no GPU")));
}

TEST(PlanLaunch, CountsTheNamedGpus) {
  for (const char* word : {"gpu", "auto"}) {
    const Flags flags = {{"nproc_per_node", word}, {"gpu_ids", "1,3"}};
    ASSERT_OK_AND_ASSIGN(const LaunchPlan plan, Plan("", flags, Host(4)));
    EXPECT_THAT(plan.processes, ElementsAre(2)) << word;
  }
  ASSERT_OK_AND_ASSIGN(const LaunchPlan plan,
                       Plan("", {{"nproc_per_node", "gpu"}, {"gpu_ids", "all"}}, Host(4)));
  EXPECT_THAT(plan.processes, ElementsAre(4));
  EXPECT_THAT(Plan("", {{"nproc_per_node", "gpu"}, {"gpu_ids", "x"}}, Host(4)),
              StatusIs(kInvalid, HasSubstr("--gpu_ids is x: ")));
}

TEST(PlanLaunch, ARangeOfOneNumberIsThatNumber) {
  const Flags two = {{"num_processes", "4"}, {"main_process_ip", "h"}, {"nnodes", "2:2"}};
  ASSERT_OK_AND_ASSIGN(const LaunchPlan plan, Plan("", two));
  EXPECT_THAT(plan.processes, ElementsAre(2, 2));
  const Setting& nnodes = GetSetting("nnodes");
  for (const char* wrong : {"1:2", ":", "x:x", "2:2:2"}) {
    EXPECT_THAT(ReadFlagValue(nnodes, wrong).status(),
                StatusIs(kInvalid, HasSubstr("a launch has a fixed number of machines")));
  }
}

TEST(PlanLaunch, StandaloneIsOneMachine) {
  HostFacts host = Host(0);
  host.env = [](const std::string& name) {
    const bool is_count = name == "SLURM_STEP_NUM_NODES" || name == "SLURM_STEP_NUM_TASKS";
    const bool is_step = is_count || name == "SLURM_JOB_NODELIST" || name == "SLURM_PROCID";
    return is_step ? std::optional<std::string>(is_count ? "2" : "0") : std::nullopt;
  };
  ASSERT_OK_AND_ASSIGN(LaunchPlan plan, Plan("", {}, host));
  EXPECT_EQ(plan.num_machines, 2);
  ASSERT_OK_AND_ASSIGN(plan, Plan("", {{"standalone", "true"}}, host));
  EXPECT_EQ(plan.num_machines, 1);
  EXPECT_THAT(plan.notes, IsEmpty());
  EXPECT_THAT(Plan("", {{"standalone", "true"}, {"nnodes", "2"}}),
              StatusIs(kInvalid, HasSubstr("--standalone is for one machine, and there are 2")));
}

TEST(PlanLaunch, ACoordinatorIsForAnyNumberOfMachines) {
  HostFacts host = Host(2);
  host.env = [](const std::string& name) {
    return name == "ACCEL_COORDINATOR" ? std::optional<std::string>("h:1") : std::nullopt;
  };
  ASSERT_OK_AND_ASSIGN(LaunchPlan plan, Plan("", {{"coordinator", "h:1"}}));
  EXPECT_TRUE(plan.on_cluster);
  EXPECT_THAT(plan.processes, IsEmpty());  // The nodes count their GPUs.
  ASSERT_OK_AND_ASSIGN(plan,
                       Plan("distributed_type: NO\nnum_processes: 2\ncoordinator: h:1\n", {}));
  EXPECT_TRUE(plan.on_cluster);
  EXPECT_FALSE(plan.cpu);  // A node of the cluster may have GPUs.
  ASSERT_OK_AND_ASSIGN(plan, Plan("", {}, host));
  EXPECT_FALSE(plan.on_cluster);
  ASSERT_OK_AND_ASSIGN(plan, Plan("", {{"num_machines", "2"}, {"num_processes", "2"}}, host));
  EXPECT_TRUE(plan.on_cluster);
}

TEST(PlanLaunch, AnEmptyVariableNamesNoCoordinator) {
  HostFacts host = Host();
  std::map<std::string, std::string> variables = {{"ACCEL_COORDINATOR", ""}};
  host.env = [&variables](const std::string& name) {
    const auto it = variables.find(name);
    return it == variables.end() ? std::nullopt : std::optional<std::string>(it->second);
  };
  const Flags two = {{"num_machines", "2"}, {"num_processes", "2"}, {"main_process_ip", "h"}};
  ASSERT_OK_AND_ASSIGN(LaunchPlan plan, Plan("", two, host));
  EXPECT_FALSE(plan.on_cluster);
  EXPECT_THAT(plan.notes, IsEmpty());
  // The nodes of a step of Slurm are counted too.
  variables["SLURM_STEP_NUM_NODES"] = variables["SLURM_STEP_NUM_TASKS"] = "2";
  variables["SLURM_JOB_NODELIST"] = "a,b";
  variables["SLURM_PROCID"] = "0";
  ASSERT_OK_AND_ASSIGN(plan, Plan("", {}, host));
  EXPECT_EQ(plan.num_machines, 2);
}

TEST(PlanLaunch, AnAddressOfAFileMayStandWithTheFlagOfACoordinator) {
  const std::string file = "distributed_type: NO\nnum_processes: 2\nmain_process_ip: h\n";
  ASSERT_OK_AND_ASSIGN(const LaunchPlan plan, Plan(file, {{"coordinator", "h:1"}}));
  EXPECT_THAT(plan.notes, ElementsAre("f:3:1: main_process_ip has no effect, because --coordinator "
                                      "names a cluster"));
  EXPECT_THAT(Plan(file + "coordinator: h:1\n", {}), StatusIs(kInvalid, HasSubstr("f:3:1: main")));
  EXPECT_THAT(
      Plan("", {{"coordinator", "h:1"}, {"main_process_ip", "h"}}),
      StatusIs(kInvalid, HasSubstr("--main_process_ip is h: it is for machines that meet")));
}

}  // namespace
}  // namespace accel::cli
