#include "cli/config/core/explain.h"

#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

TEST(ExplainSettings, NamesTheSourceOfEveryValue) {
  ASSERT_OK_AND_ASSIGN(ConfigFile file, ReadConfig("c.yaml",
                                                   "distributed_type: NO\nnum_processes: 2\n"
                                                   "same_network: true\n"));
  const EffectiveSettings settings(std::move(file), {{&GetSetting("debug"), Value{true}}});
  const std::string text =
      ExplainSettings(settings, nullptr, [](const std::string& name) -> std::optional<std::string> {
        if (name == "OMP_NUM_THREADS") return "3";
        return std::nullopt;
      });
  EXPECT_THAT(text, HasSubstr("Configuration file: c.yaml\n"));
  EXPECT_THAT(text, ContainsRegex("  num_processes +2 +c.yaml:2:1\n"));
  EXPECT_THAT(text, ContainsRegex("  debug +True +flag --debug\n"));
  EXPECT_THAT(text, ContainsRegex("  max_restarts +0 +default\n"));
  EXPECT_THAT(text, ContainsRegex("  num_cpu_threads_per_process +3 +environment OMP_NUM_THREADS"));
  EXPECT_THAT(text,
              ContainsRegex("  same_network +True +c.yaml:3:1; no effect: nodes are reached"));
  EXPECT_THAT(text, ContainsRegex("fsdp_config:\n  fsdp_version +1 +default\n"));
  for (const Setting* setting : AllSettings()) {
    EXPECT_THAT(text, HasSubstr(std::string(setting->name)));
  }
}

TEST(ExplainSettings, PrintsWhatTheLaunchDerives) {
  const auto no_env = [](const std::string&) -> std::optional<std::string> { return std::nullopt; };
  HostFacts host;
  host.env = no_env;
  host.gpus = 4;
  const EffectiveSettings settings(std::nullopt, {});
  ASSERT_OK_AND_ASSIGN(LaunchPlan plan, PlanLaunch(settings, host));
  std::string text = ExplainSettings(settings, &plan, no_env);
  EXPECT_THAT(text, ContainsRegex("  num_processes +4 +derived\n"));
  EXPECT_THAT(text, ContainsRegex("  num_cpu_threads_per_process +1 +derived\n"));
  EXPECT_THAT(text, ContainsRegex("  num_machines +1 +default\n"));
  plan.processes.clear();
  plan.num_machines = 2;
  text = ExplainSettings(settings, &plan, no_env);
  EXPECT_THAT(text, ContainsRegex("  num_processes +one for each GPU, or one +derived\n"));
  EXPECT_THAT(text, ContainsRegex("  num_machines +2 +derived\n"));
}

TEST(ExplainSettings, ACountForEachNodeWinsOverTheFile) {
  ASSERT_OK_AND_ASSIGN(ConfigFile file,
                       ReadConfig("c.yaml", "distributed_type: MULTI_CPU\nnum_processes: 2\n"));
  const EffectiveSettings settings(std::move(file),
                                   {{&GetSetting("nproc_per_node"), Value{int64_t{3}}}});
  LaunchPlan plan;
  plan.processes = {3};
  EXPECT_THAT(ExplainSettings(settings, &plan, [](const std::string&) { return std::nullopt; }),
              ContainsRegex("  num_processes +3 +derived\n"));
}

}  // namespace
}  // namespace accel::cli
