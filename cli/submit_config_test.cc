#include "cli/submit_config.h"

#include <fstream>

#include "cli/fake_caller_context.h"
#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using ::accel::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

constexpr char kFsdp[] =
    "distributed_type: FSDP\nmixed_precision: bf16\nnum_machines: 2\nnum_processes: 8\n"
    "fsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n";

constexpr char kSizes[] =
    "distributed_type: FSDP\nnum_machines: 1\nnum_processes: 4\n"
    "fsdp_config:\n  fsdp_version: 2\nparallelism_config:\n"
    "  parallelism_config_dp_shard_size: 8\n";

absl::StatusOr<ConfiguredSubmit> ReadAll(const std::vector<std::string>& args,
                                         const std::string& text) {
  const std::string path = ::testing::TempDir() + "/submit.yaml";
  std::ofstream(path) << text;
  const FakeCallerContext context;
  return ReadOnTopOfConfig(args, path, context.Get());
}

// Reads the flags on top of a file with this text.
absl::StatusOr<SubmitFlags> Read(const std::vector<std::string>& args, const std::string& text) {
  auto read = ReadAll(args, text);
  if (!read.ok()) return read.status();
  return read->flags;
}

TEST(ReadOnTopOfConfig, TakesTheSettingsOfTheFile) {
  ASSERT_OK_AND_ASSIGN(const SubmitFlags flags, Read({"train"}, kFsdp));
  EXPECT_EQ(flags.nodes.min, 2);
  EXPECT_EQ(flags.nodes.max, 2);
  EXPECT_THAT(flags.processes_per_node, ElementsAre(4));
  EXPECT_EQ(flags.job.mixed_precision, "bf16");
  EXPECT_THAT(flags.job.program.words, ElementsAre("train"));
  EXPECT_THAT(flags.settings_env, Contains(Pair("ACCELERATE_USE_FSDP", "true")));
  EXPECT_THAT(flags.settings_env, Contains(Pair("FSDP_SHARDING_STRATEGY", "FULL_SHARD")));
}

TEST(ReadOnTopOfConfig, FlagsWin) {
  ASSERT_OK_AND_ASSIGN(
      const SubmitFlags flags,
      Read({"--nodes", "1:3", "--mixed_precision", "no", "--max_restarts", "2", "train"}, kFsdp));
  EXPECT_EQ(flags.nodes.min, 1);
  EXPECT_EQ(flags.nodes.max, 3);
  EXPECT_THAT(flags.processes_per_node, ElementsAre(4));
  EXPECT_EQ(flags.job.mixed_precision, "no");
  EXPECT_EQ(flags.job.max_restarts, 2);
  ASSERT_OK_AND_ASSIGN(const SubmitFlags automatic,
                       Read({"--processes_per_node", "auto", "train"}, kFsdp));
  EXPECT_THAT(automatic.processes_per_node, IsEmpty());
}

TEST(ReadOnTopOfConfig, OnlyFlagsAndFileTogetherMustFit) {
  const std::string uncounted = "distributed_type: MULTI_GPU\nnum_machines: 2\n";
  ASSERT_OK_AND_ASSIGN(SubmitFlags flags, Read({"--processes_per_node", "4", "train"}, uncounted));
  EXPECT_THAT(flags.processes_per_node, ElementsAre(4));
  EXPECT_THAT(Read({"train"}, uncounted),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("`--processes_per_node`"), Not(HasSubstr("--num_")))));
  ASSERT_OK_AND_ASSIGN(flags, Read({"--nodes", "2", "train"}, kSizes));
  EXPECT_THAT(flags.processes_per_node, ElementsAre(4));
  EXPECT_THAT(Read({"train"}, kSizes), StatusIs(absl::StatusCode::kInvalidArgument,
                                                HasSubstr("make 8 processes (dp_shard_size 8)")));
  EXPECT_OK(Read({"--nodes", "2", "--processes_per_node", "5,3", "train"}, kSizes));
  EXPECT_THAT(Read({"--nodes", "3", "train"},
                   "distributed_type: MULTI_GPU\nnum_machines: 2\nnum_processes: 3\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("submit.yaml:3:1: num_processes is 3: it is not the same")));
  ASSERT_OK_AND_ASSIGN(flags, Read({"--nodes", "2", "train"}, "distributed_type: NO\n"));
  EXPECT_THAT(flags.processes_per_node, ElementsAre(1));
}

TEST(ReadOnTopOfConfig, EachNodeCountsItsGpusWithAuto) {
  // With the number of the file, the sizes would not fit.
  ASSERT_OK_AND_ASSIGN(const SubmitFlags flags,
                       Read({"--processes_per_node", "auto", "train"}, kSizes));
  EXPECT_THAT(flags.processes_per_node, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const SubmitFlags on_cpus,
                       Read({"--processes_per_node=auto", "--cpu", "train"}, kFsdp));
  EXPECT_THAT(on_cpus.processes_per_node, IsEmpty());
}

TEST(ReadOnTopOfConfig, TheFlagForCpusWins) {
  for (const char* text : {"distributed_type: NO\nuse_cpu: true\nnum_processes: 1\n",
                           "distributed_type: MULTI_CPU\nnum_processes: 2\n"}) {
    ASSERT_OK_AND_ASSIGN(SubmitFlags flags, Read({"train"}, text));
    EXPECT_TRUE(flags.job.cpu);
    EXPECT_THAT(flags.settings_env, Contains(Pair("ACCELERATE_USE_CPU", "True")));
    EXPECT_THAT(flags.settings_env, Not(Contains(Key("OMP_NUM_THREADS"))));
    ASSERT_OK_AND_ASSIGN(flags, Read({"--cpu=false", "train"}, text));
    EXPECT_FALSE(flags.job.cpu);
    EXPECT_THAT(flags.settings_env, Not(Contains(Pair("ACCELERATE_USE_CPU", "True"))));
    EXPECT_THAT(flags.settings_env, Contains(Pair("OMP_NUM_THREADS", "1")));
  }
}

TEST(ReadOnTopOfConfig, GpusOfTheFileAreLeftOutOnCpus) {
  const std::string text = std::string(kFsdp) + "gpu_ids: 0,1\n";
  ASSERT_OK_AND_ASSIGN(SubmitFlags flags, Read({"--cpu", "train"}, text));
  EXPECT_THAT(flags.job.gpu_ids, IsEmpty());
  ASSERT_OK_AND_ASSIGN(flags, Read({"train"}, text));
  EXPECT_THAT(flags.job.gpu_ids, ElementsAre(0, 1));
  ASSERT_OK_AND_ASSIGN(flags, Read({"--gpu_ids", "all", "train"}, text));
  EXPECT_THAT(flags.job.gpu_ids, IsEmpty());
}

TEST(ReadOnTopOfConfig, AnAddressInTheFileIsNoMatter) {
  ASSERT_OK_AND_ASSIGN(
      const ConfiguredSubmit read,
      ReadAll({"train"}, std::string(kFsdp) + "main_process_ip: h1\nmain_process_port: 29500\n"));
  EXPECT_THAT(read.notes, IsEmpty());
}

TEST(ReadOnTopOfConfig, AFileForCpusKeepsItsParadigm) {
  ASSERT_OK_AND_ASSIGN(const SubmitFlags flags,
                       Read({"train"}, std::string(kFsdp) + "use_cpu: true\n"));
  EXPECT_TRUE(flags.job.cpu);
  EXPECT_THAT(flags.settings_env, Contains(Pair("ACCELERATE_USE_FSDP", "true")));
}

TEST(ReadOnTopOfConfig, UnequalNodesAndTheCoordinatorComeFromTheFile) {
  ASSERT_OK_AND_ASSIGN(const SubmitFlags flags,
                       Read({"train"},
                            "distributed_type: MULTI_GPU\nnum_machines: 2\n"
                            "num_processes: 3\ncoordinator: a:1\n"));
  EXPECT_THAT(flags.processes_per_node, ElementsAre(2, 1));
  EXPECT_EQ(flags.connection.coordinator, "a:1");
  EXPECT_THAT(flags.settings_env, Not(Contains(Pair("ACCELERATE_USE_FSDP", "true"))));
}

TEST(ReadOnTopOfConfig, NamesThePlaceOfAMistake) {
  EXPECT_THAT(Read({"train"}, "distributed_type: NO\nnum_process: 2\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("submit.yaml:2:1: unknown key num_process; did you mean")));
  EXPECT_THAT(Read({"train"}, std::string(kFsdp) + "machine_rank: 1\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("with machine_rank 0")));
}

}  // namespace
}  // namespace accel::cli
