#include "cli/config/core/write_config.h"

#include <utility>

#include "common/status_matchers.h"

namespace accel::cli {
namespace {

FileSetting Set(absl::string_view name, Value value) {
  return {&GetSetting(name), std::move(value), {}};
}

TEST(WriteConfig, SortsKeysAndQuotesWhatYamlWouldChange) {
  EXPECT_EQ(
      WriteConfig("c.yaml", {Set("num_processes", {int64_t{2}}), Set("mixed_precision", {"no"}),
                             Set("fsdp_version", {int64_t{2}}), Set("distributed_type", {"FSDP"}),
                             Set("gpu_ids", {"0,1"}), Set("main_process_ip", {"it's: #1"}),
                             Set("debug", {false})}),
      "debug: false\n"
      "distributed_type: FSDP\n"
      "fsdp_config:\n"
      "  fsdp_version: 2\n"
      "gpu_ids: 0,1\n"
      "main_process_ip: 'it''s: #1'\n"
      "mixed_precision: 'no'\n"
      "num_processes: 2\n");
}

TEST(WriteConfig, IsReadBackUnchanged) {
  const std::vector<FileSetting> settings = {
      Set("distributed_type", {"NO"}),
      Set("coordinator", {"tab\there \"quoted\" \\ back"}),
      Set("fsdp_transformer_layer_cls_to_wrap", {std::vector<Value>{{"A"}, {"B: c"}}}),
      Set("gradient_clipping", {0.5}),
      Set("gpu_ids", {"010"}),
      Set("main_process_ip", {"- dash"}),
  };
  for (const char* path : {"c.yaml", "c.json"}) {
    const std::string text = WriteConfig(path, settings);
    ASSERT_OK_AND_ASSIGN(const ConfigFile file, ReadConfig(path, text));
    EXPECT_EQ(file.settings.size(), settings.size()) << text;
    for (const FileSetting& wanted : settings) {
      for (const FileSetting& read : file.settings) {
        if (read.setting == wanted.setting) {
          EXPECT_EQ(PythonText(read.value), PythonText(wanted.value)) << text;
        }
      }
    }
  }
}

TEST(AddMissingDefaults, KeepsWhatIsGiven) {
  std::vector<FileSetting> settings = {Set("debug", {true})};
  AddMissingDefaults(&settings);
  EXPECT_EQ(settings.size(), 10u);
  EXPECT_EQ(settings[0].value, Value{true});
}

}  // namespace
}  // namespace accel::cli
