#include "cli/config/core/questionnaire.h"

#include <set>

#include "cli/config/core/launch_plan.h"
#include "cli/config/core/write_config.h"
#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

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
      {{"machine_type", "2"},
       {"num_machines", "2"},
       {"num_processes", "4"},
       {"use_coordinator", "yes"}},
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
              HasSubstr("fsdp_version: 1\n"));
}

TEST(Questionnaire, MachinesMeetAtAnAddressUnlessThereIsACoordinator) {
  const std::map<std::string, std::string> two = {{"machine_type", "1"}, {"num_machines", "2"}};
  std::map<std::string, std::string> given = two;
  given.insert({{"machine_rank", "1"}, {"main_process_ip", "10.0.0.1"}, {"same_network", "no"}});
  const std::string meets = File(given);
  for (const char* line : {"machine_rank: 1\n", "main_process_ip: 10.0.0.1\n",
                           "main_process_port: 29500\n", "same_network: false\n"}) {
    EXPECT_THAT(meets, HasSubstr(line));
  }
  EXPECT_THAT(meets, Not(HasSubstr("coordinator")));
  given = two;
  given.insert({{"use_coordinator", "yes"}, {"coordinator", "h1:7337"}});
  const std::string submits = File(given);
  EXPECT_THAT(submits, HasSubstr("coordinator: h1:7337\n"));
  EXPECT_THAT(submits, Not(HasSubstr("main_process_ip")));
}

TEST(Questionnaire, AsksAboutMachinesInTheOrderOfAccelerate) {
  Questionnaire questionnaire;
  ASSERT_OK(questionnaire.Answer("multi-GPU"));
  ASSERT_OK(questionnaire.Answer("2"));
  struct Row {
    const char* name;
    const char* wrong;
    const char* says;
    const char* right;
  };
  for (const Row& row :
       {Row{"use_coordinator", "perhaps", "yes or no", ""},
        Row{"machine_rank", "2", "a number from 0 to 1", "1"},
        Row{"main_process_ip", "", "enter a value", "10.0.0.1"},
        Row{"main_process_port", "70000", "a number from 1 to 65535", "29500"},
        Row{"same_network", "x", "yes or no", ""}, Row{"debug", "x", "yes or no", ""}}) {
    ASSERT_EQ(questionnaire.Next()->name, row.name);
    EXPECT_THAT(questionnaire.Answer(row.wrong), StatusIs(kInvalid, HasSubstr(row.says)));
    ASSERT_OK(questionnaire.Answer(row.right));
  }
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
      "machine_type",          "use_dynamo", "use_custom_options",   "use_deepspeed_config",
      "use_gradient_clipping", "use_moe",    "use_no_split_modules", "use_coordinator"};
  for (const Question& question : AllQuestions()) {
    EXPECT_NE(FindSetting(question.name) != nullptr, own.count(question.name) > 0) << question.name;
    EXPECT_NE(question.text.back(), ':') << question.name;  // A colon follows the text.
  }
}

}  // namespace
}  // namespace accel::cli
