#include "cli/config/core/questionnaire.h"

#include <set>

#include "cli/config/core/launch_plan.h"
#include "cli/config/core/write_config.h"
#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// Answers the questions of these names, and all others with their defaults. Returns the file.
std::string File(std::map<std::string, std::string> given) {
  Questionnaire questionnaire;
  while (const Question* question = questionnaire.Next()) {
    const std::string name(question->name);
    const auto found = given.find(name);
    std::string text = found == given.end() ? "" : found->second;
    if (text.empty() && question->fallback.empty()) text = "X";
    EXPECT_OK(questionnaire.Answer(text)) << name;
    given.erase(name);
  }
  for (const auto& [name, text] : given) ADD_FAILURE() << name << " was not asked";
  return WriteConfig("c.yaml", questionnaire.Settings());
}

void ExpectLaunches(const std::string& text) {
  ASSERT_OK_AND_ASSIGN(const ConfigFile file, ReadConfig("f", text));
  HostFacts host;
  host.env = [](const std::string&) { return std::nullopt; };
  const auto plan = PlanLaunch(EffectiveSettings(file, {}), host);
  EXPECT_OK(plan) << text;
  if (!plan.ok()) return;
  EXPECT_TRUE(plan->notes.empty()) << plan->notes[0];
}

TEST(Questionnaire, TheDefaultsAreOneProcess) {
  EXPECT_EQ(File({}),
            "compute_environment: LOCAL_MACHINE\n"
            "debug: false\n"
            "distributed_type: 'NO'\n"
            "enable_cpu_affinity: false\n"
            "gpu_ids: all\n"
            "machine_rank: 0\n"
            "main_training_function: main\n"
            "mixed_precision: 'no'\n"
            "num_machines: 1\n"
            "num_processes: 1\n"
            "rdzv_backend: static\n"
            "same_network: false\n"
            "use_cpu: false\n");
}

TEST(Questionnaire, EveryKindOfTrainingCanBeLaunched) {
  using Given = std::map<std::string, std::string>;
  const Given cases[] = {
      {},
      {{"use_cpu", "yes"}},
      {{"machine_type", "multi-CPU"}, {"num_processes", "4"}},
      {{"machine_type", "2"}, {"num_processes", "2"}, {"gpu_ids", "0,1"}},
      {{"machine_type", "2"}, {"num_machines", "2"}, {"num_processes", "4"}},
      {{"machine_type", "2"}, {"use_fsdp", "yes"}},
      {{"machine_type", "2"}, {"use_fsdp", "yes"}, {"fsdp_version", "1"}},
      {{"machine_type", "2"}, {"use_fsdp", "yes"}, {"use_parallelism_config", "yes"}},
      {{"machine_type", "2"}, {"use_megatron_lm", "yes"}, {"megatron_lm_tp_degree", "2"}},
      {{"use_deepspeed", "yes"}, {"zero_stage", "3"}, {"offload_param_device", "nvme"}},
      {{"use_dynamo", "yes"}, {"use_custom_options", "yes"}},
      {{"mixed_precision", "fp8"}, {"fp8_backend", "TE"}},
      {{"mixed_precision", "fp8"}, {"fp8_backend", "AO"}},
  };
  for (const Given& given : cases) ExpectLaunches(File(given));
}

TEST(Questionnaire, AnOptionIsItsNameOrItsNumber) {
  EXPECT_THAT(File({{"mixed_precision", "BF16"}}), HasSubstr("mixed_precision: bf16\n"));
  EXPECT_THAT(File({{"mixed_precision", "1"}}), HasSubstr("mixed_precision: fp16\n"));
  EXPECT_THAT(File({{"machine_type", "2"}, {"use_fsdp", "y"}, {"fsdp_version", "1"}}),
              HasSubstr("fsdp_version: '1'\n"));
}

TEST(Questionnaire, AWrongAnswerKeepsTheQuestion) {
  Questionnaire questionnaire;
  EXPECT_THAT(questionnaire.Answer("TPU"),
              StatusIs(kInvalid, HasSubstr("No distributed training")));
  EXPECT_EQ(questionnaire.Next()->name, "machine_type");
  ASSERT_OK(questionnaire.Answer("1"));
  EXPECT_EQ(questionnaire.Next()->name, "num_machines");
  EXPECT_THAT(questionnaire.Answer("two"), StatusIs(kInvalid, HasSubstr("a whole number")));
  EXPECT_THAT(questionnaire.Answer("0"), StatusIs(kInvalid, HasSubstr("a number from 1")));
}

TEST(Questions, AskForSettingsOrWordsOfTheirOwn) {
  const std::set<absl::string_view> own = {
      "machine_type",          "use_dynamo", "use_custom_options",  "use_deepspeed_config",
      "use_gradient_clipping", "use_moe",    "use_no_split_modules"};
  for (const Question& question : AllQuestions()) {
    EXPECT_NE(FindSetting(question.name) != nullptr, own.count(question.name) > 0) << question.name;
  }
}

}  // namespace
}  // namespace accel::cli
