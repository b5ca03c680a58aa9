#include "cli/config/core/config_file.h"

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using ::accel::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// Reads a file that begins with the required key, so that `text` begins on line 2.
absl::StatusOr<ConfigFile> Read(const std::string& text) {
  return ReadConfig("f", absl::StrCat("distributed_type: FSDP\n", text));
}

Value Find(const ConfigFile& file, absl::string_view name) {
  for (const FileSetting& given : file.settings) {
    if (given.setting->name == name) return given.value;
  }
  ADD_FAILURE() << "no " << name;
  return {};
}

TEST(ReadConfig, TypesValuesAndAddsPrefixes) {
  ASSERT_OK_AND_ASSIGN(const ConfigFile file, Read("num_processes: '4'\nmixed_precision: no\n"
                                                   "fsdp_config:\n  version: 2\n"));
  EXPECT_EQ(Find(file, "num_processes"), Value{int64_t{4}});
  EXPECT_EQ(Find(file, "mixed_precision"), Value{"no"});
  EXPECT_EQ(Find(file, "fsdp_version"), Value{int64_t{2}});
  EXPECT_EQ(file.settings.back().mark.line, 5);
  EXPECT_THAT(file.notes, IsEmpty());
}

TEST(ReadConfig, NamesTheNearestKey) {
  EXPECT_THAT(Read("num_process: 2\n"),
              StatusIs(kInvalid, "f:2:1: unknown key num_process; did you mean num_processes?"));
  EXPECT_THAT(Read("fsdp_config:\n  sharding_stratgy: FULL_SHARD\n"),
              StatusIs(kInvalid,
                       "f:3:3: unknown key sharding_stratgy in fsdp_config; did you mean "
                       "fsdp_sharding_strategy?"));
  EXPECT_THAT(Read("zero_stage: 2\n"), StatusIs(kInvalid, HasSubstr("below deepspeed_config")));
  EXPECT_THAT(Read("xyzzy: 2\n"), StatusIs(kInvalid, HasSubstr("docs/configuring.md")));
}

TEST(ReadConfig, ListsAllProblems) {
  EXPECT_THAT(
      Read("num_processes: two\nfsdp_config:\n  fsdp_offload_params: maybe\ndebug: [1]\n"),
      StatusIs(kInvalid,
               AllOf(HasSubstr("f:2:16: num_processes: it is \"two\" and must be a whole number\n"),
                     HasSubstr("f:4:24: fsdp_offload_params: it is \"maybe\" and must be true or "
                               "false\n"),
                     HasSubstr("f:5:8: debug: it is a list and must be true or false"))));
  std::string many;
  for (int i = 0; i < 15; ++i) absl::StrAppend(&many, "wrong_", i, ": 1\n");
  EXPECT_THAT(Read(many), StatusIs(kInvalid, HasSubstr("\nand 5 more")));
}

TEST(ReadConfig, RefusesContradictions) {
  EXPECT_THAT(Read("fsdp_config:\n  version: 2\n  fsdp_version: 1\n"),
              StatusIs(kInvalid, "f:4:3: fsdp_version is already given on line 3; remove one"));
  EXPECT_THAT(Read("fsdp_config:\n  fsdp_backward_prefetch: BACKWARD_PRE\n"
                   "  fsdp_backward_prefetch_policy: BACKWARD_POST\n"),
              StatusIs(kInvalid, HasSubstr("f:4:3: fsdp_backward_prefetch is already given")));
  EXPECT_THAT(Read("fsdp_config: on\n"), StatusIs(kInvalid, HasSubstr("must hold keys")));
  EXPECT_THAT(ReadConfig("f", "num_processes: 2\n"),
              StatusIs(kInvalid, "f: A `distributed_type` must be specified in the config file."));
}

TEST(ReadConfig, ReadsOldKeysAndSaysSo) {
  ASSERT_OK_AND_ASSIGN(const ConfigFile file,
                       Read("fp16: true\ndynamo_backend: INDUCTOR\n"
                            "fsdp_config:\n  fsdp_backward_prefetch_policy: BACKWARD_PRE\n"
                            "fp8_config:\n  optimization_level: O1\n  amax_history_length: 16\n"));
  EXPECT_EQ(Find(file, "mixed_precision"), Value{"fp16"});
  EXPECT_EQ(Find(file, "dynamo_backend"), Value{"INDUCTOR"});
  EXPECT_EQ(Find(file, "fsdp_backward_prefetch"), Value{"BACKWARD_PRE"});
  EXPECT_EQ(Find(file, "fp8_opt_level"), Value{"O1"});
  EXPECT_THAT(file.notes,
              ElementsAre(HasSubstr("f:5:3: fsdp_backward_prefetch_policy is an old key"),
                          HasSubstr("f:7:3: optimization_level"), HasSubstr("amax_history_length"),
                          HasSubstr("f:2:1: fp16 is an old key; use mixed_precision: fp16"),
                          HasSubstr("f:3:1: dynamo_backend")));
}

TEST(ReadConfig, AnOldKeyMustAgreeWithTheNewOne) {
  EXPECT_OK(Read("fp16: true\nmixed_precision: fp16\n"));
  EXPECT_OK(Read("fp16: false\nmixed_precision: bf16\n"));
  EXPECT_THAT(Read("mixed_precision: bf16\nfp16: true\n"),
              StatusIs(kInvalid,
                       "f:3:1: fp16 is true, and mixed_precision is bf16 on line 2; "
                       "remove fp16"));
}

TEST(ReadConfig, RefusesWhatAccelDoesNotDrive) {
  EXPECT_OK(Read("tpu_env: []\ntpu_use_cluster: false\ndowncast_bf16: 'no'\ntpu_name: null\n"));
  EXPECT_THAT(Read("tpu_use_sudo: true\n"),
              StatusIs(kInvalid, HasSubstr("f:2:1: tpu_use_sudo: accel does not drive TPUs")));
  EXPECT_OK(Read("ipex_config: {ipex: false, use_xpu: false}\nuse_mps_device: false\n"));
  EXPECT_OK(Read("ipex_config: {}\n"));
  EXPECT_THAT(Read("ipex_config:\n  ipex: true\n"),
              StatusIs(kInvalid, HasSubstr("f:3:3: ipex: accel does not drive Intel's extension")));
  EXPECT_THAT(Read("use_mps_device: true\n"), StatusIs(kInvalid, HasSubstr("Apple's GPUs (MPS)")));
  EXPECT_THAT(Read("compute_environment: AMAZON_SAGEMAKER\n"),
              StatusIs(kInvalid, HasSubstr("does not drive Amazon SageMaker")));
}

}  // namespace
}  // namespace accel::cli
