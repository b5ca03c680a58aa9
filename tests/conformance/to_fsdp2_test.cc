// Conversions of configuration files to version 2 of FSDP, compared with `accelerate to-fsdp2`.
#include "cli/config/core/to_fsdp2.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "tests/conformance/golden.h"

namespace accel::cli {
namespace {

using nlohmann::json;

json ToJson(const ConfigTree& tree) { return json::parse(WriteTree("c.json", tree)); }

// Checks a conversion in which upstream has a defect. `keys` is what accel writes.
void ExpectBetter(const std::string& defect, const json& keys, const std::string& notes) {
  if (absl::StrContains(defect, "replication")) {  // "… is lost without a message"
    EXPECT_TRUE(absl::StrContains(notes, "NO_SHARD: version 2 always shards") ||
                absl::StrContains(notes, "to replicate between machines"))
        << notes;
  } else if (absl::StrContains(defect, "is carried over: the result is no boolean")) {
    EXPECT_TRUE(keys["fsdp_reshard_after_forward"].is_boolean()) << keys;
  } else if (absl::StrContains(defect, "LOCAL_STATE_DICT")) {  // "the result is refused by FSDP 2"
    EXPECT_EQ(keys["fsdp_state_dict_type"], "SHARDED_STATE_DICT");
  } else if (absl::StrContains(defect, "the old name fsdp_backward_prefetch_policy is carried")) {
    EXPECT_FALSE(keys.contains("fsdp_backward_prefetch_policy"));
  } else {
    ADD_FAILURE() << "no test says what accel does instead: " << defect;
  }
}

TEST(ToFsdp2, EqualsUpstream) {
  for (const json& golden : golden_cases("fsdp_config.json")) {
    if (golden["params"].value("op", "") != "to_fsdp2") continue;
    SCOPED_TRACE(golden["params"].dump());
    const auto root = ParseDocument("f", golden["params"]["config"].dump());
    ASSERT_TRUE(root.ok()) << root.status();
    const auto converted = ConvertToFsdp2("f", *root);
    const std::string defect = golden.value("upstream_defect", "");
    if (!converted.ok()) {  // A strategy that exists in no version.
      EXPECT_TRUE(absl::StrContains(defect, "carried over")) << converted.status();
      EXPECT_TRUE(absl::StrContains(converted.status().message(), "must be FULL_SHARD"));
      continue;
    }
    const json ours = ToJson(converted->tree);
    if (defect.empty()) {
      EXPECT_EQ(ours, golden["expected"]["config"]);
      continue;
    }
    ExpectBetter(defect, ours["fsdp_config"], absl::StrJoin(converted->notes, "\n"));
  }
}

TEST(ToFsdp2, NamesThePlaceOfEachChange) {
  const auto root = ParseDocument("f", "fsdp_config:\n  use_orig_params: true\n");
  ASSERT_TRUE(root.ok());
  const auto converted = ConvertToFsdp2("f", *root);
  ASSERT_TRUE(converted.ok());
  EXPECT_EQ(absl::StrJoin(converted->notes, "|"),
            "f:2:3: use_orig_params has no effect in version 2 and was removed");
  EXPECT_EQ(WriteTree("c.yaml", converted->tree), "fsdp_config:\n  fsdp_version: 2\n");
}

}  // namespace
}  // namespace accel::cli
