#include "cli/config/core/contradictions.h"

#include "cli/config/core/read_value.h"
#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using ::accel::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

using Flags = std::vector<std::pair<const char*, const char*>>;

// Plans a launch with a file, unless `text` is empty, and flags.
absl::StatusOr<LaunchPlan> Plan(const std::string& text, const Flags& given,
                                std::optional<int> gpus = 2) {
  HostFacts host;
  host.gpus = gpus;
  host.env = [](const std::string&) { return std::nullopt; };
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

TEST(Contradictions, GpusAndCpus) {
  const std::string both = "distributed_type: MULTI_GPU\nnum_processes: 2\nuse_cpu: true\n";
  EXPECT_THAT(Plan(both, {}),
              StatusIs(kInvalid,
                       "f:3:1: use_cpu is True: f:1:1: distributed_type is MULTI_GPU; set "
                       "use_cpu: false, or distributed_type: MULTI_CPU"));
  EXPECT_OK(Plan(both, {{"cpu", "true"}}));
  EXPECT_OK(Plan(both, {{"multi_gpu", "true"}}));
}

TEST(Contradictions, SeveralGpusOnAMachineWithoutOne) {
  const std::string file = "distributed_type: MULTI_GPU\nnum_processes: 2\n";
  EXPECT_THAT(Plan("", {{"multi_gpu", "true"}, {"num_processes", "2"}}, 0),
              StatusIs(kInvalid, HasSubstr("--multi_gpu: this machine has no GPU")));
  EXPECT_THAT(Plan(file, {}, 0),
              StatusIs(kInvalid, HasSubstr("f:1:1: distributed_type is MULTI_GPU: this machine")));
  EXPECT_OK(Plan(file, {{"cpu", "true"}}, 0));
  EXPECT_OK(Plan(file, {}, std::nullopt));
  // The job runs elsewhere too.
  EXPECT_OK(Plan(file, {{"coordinator", "h:1"}}, 0));
  EXPECT_OK(Plan(file, {{"num_machines", "2"}, {"main_process_ip", "h"}}, 0));
}

TEST(Contradictions, NvmeNeedsAFolder) {
  const std::string file =
      "distributed_type: DEEPSPEED\nnum_processes: 2\ndeepspeed_config:\n"
      "  offload_param_device: nvme\n";
  EXPECT_THAT(Plan(file, {}), StatusIs(kInvalid,
                                       "f:4:3: offload_param_device is nvme: it needs a "
                                       "folder; set offload_param_nvme_path"));
  EXPECT_OK(Plan(file, {{"offload_param_nvme_path", "/nvme"}}));
  EXPECT_OK(Plan(file, {{"deepspeed_config_file", "ds.json"}}));
  for (const char* none : {"  deepspeed_config_file: none\n", "  deepspeed_config_file: null\n"}) {
    EXPECT_THAT(Plan(file + none, {}), StatusIs(kInvalid, HasSubstr("it needs a folder")));
  }
}

TEST(Contradictions, SizesOfParallelism) {
  const std::string file =
      "distributed_type: FSDP\nnum_processes: 6\nfsdp_config:\n  fsdp_version: 2\n"
      "parallelism_config:\n  parallelism_config_dp_shard_size: 4\n";
  EXPECT_THAT(Plan(file, {}), StatusIs(kInvalid, HasSubstr("f:6:3: parallelism_config_dp_shard")));
  EXPECT_OK(Plan(file, {{"num_processes", "4"}}));
}

TEST(Contradictions, FlagsOfDeepSpeedsLauncherOnOneMachine) {
  ASSERT_OK_AND_ASSIGN(
      const LaunchPlan plan,
      Plan("distributed_type: DEEPSPEED\nnum_processes: 2\ndeepspeed_config:\n"
           "  deepspeed_multinode_launcher: standard\n",
           {{"deepspeed_hostfile", "hosts"}, {"deepspeed_inclusion_filter", "h1"}}));
  EXPECT_THAT(plan.notes, ElementsAre("--deepspeed_hostfile has no effect on one machine",
                                      "--deepspeed_inclusion_filter has no effect on one machine"));
}

}  // namespace
}  // namespace accel::cli
