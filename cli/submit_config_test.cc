#include "cli/submit_config.h"

#include <fstream>

#include "cli/fake_caller_context.h"
#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using ::accel::testing::StatusIs;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

constexpr char kFsdp[] =
    "distributed_type: FSDP\nmixed_precision: bf16\nnum_machines: 2\nnum_processes: 8\n"
    "fsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n";

// Reads the flags on top of a file with this text.
absl::StatusOr<SubmitFlags> Read(const std::vector<std::string>& args, const std::string& text) {
  const std::string path = ::testing::TempDir() + "/submit.yaml";
  std::ofstream(path) << text;
  const FakeCallerContext context;
  auto read = ReadOnTopOfConfig(args, path, context.Get());
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
