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
      ExplainSettings(settings, [](const std::string& name) -> std::optional<std::string> {
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

}  // namespace
}  // namespace accel::cli
