#include "cli/estimate/core/memory_table.h"
#include "cli/estimate/core/model_sizes.h"
#include "common/status_matchers.h"

namespace accel::cli {
namespace {

using ::accel::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(ReadSafetensorsHeader, AddsUpLayers) {
  ASSERT_OK_AND_ASSIGN(const auto tensors,
                       ReadSafetensorsHeader("f", R"({"__metadata__": {"format": "pt"},
                   "h.0.a.weight": {"dtype": "F16", "shape": [10, 10], "data_offsets": [0, 200]},
                   "h.0.b.weight": {"dtype": "F32", "shape": [5], "data_offsets": [200, 220]},
                   "ids": {"dtype": "I64", "shape": [3], "data_offsets": [220, 244]}})"));
  ASSERT_OK_AND_ASSIGN(const ModelSizes sizes, SizesOfTensors(tensors));
  EXPECT_EQ(sizes.total, 444u);
  EXPECT_EQ(sizes.largest, 420u);
  EXPECT_EQ(sizes.largest_name, "h.0");
}

TEST(ReadSafetensorsHeader, RefusesBadHeaders) {
  for (const char* text : {"", "[]", R"({"a": 1})", R"({"a": {"dtype": "F99", "shape": []}})",
                           R"({"a": {"dtype": "F32", "shape": [-1]}})",
                           R"({"a": {"dtype": "F32", "shape": [4294967296, 4294967296]}})"}) {
    EXPECT_THAT(ReadSafetensorsHeader("f", text), StatusIs(kInvalid, HasSubstr("f: "))) << text;
  }
  EXPECT_THAT(SizesOfTensors({{"a", uint64_t{1} << 62, 0}}),
              StatusIs(kInvalid, HasSubstr("too large")));
}

TEST(SizesOfTensors, ANameWithoutDotsIsALayer) {
  ASSERT_OK_AND_ASSIGN(const ModelSizes sizes, SizesOfTensors({{"weight", 10}, {"bias", 2}}));
  EXPECT_EQ(sizes.largest, 40u);
  EXPECT_EQ(sizes.largest_name, "weight");
  ASSERT_OK_AND_ASSIGN(const ModelSizes none, SizesOfTensors({}));
  EXPECT_THAT(MemoryTable("m", none, {"float32"}), HasSubstr("of m (it has no tensors)\n"));
}

TEST(ReadIndex, ListsFilesInsideTheFolder) {
  EXPECT_THAT(*ReadIndex("i", R"({"weight_map": {"a": "1.safetensors", "b": "2.safetensors",
                                                 "c": "1.safetensors"}})"),
              ElementsAre("1.safetensors", "2.safetensors"));
  for (const char* text : {"{}", R"({"weight_map": {"a": "../x"}})",
                           R"({"weight_map": {"a": "/x"}})", R"({"weight_map": {"a": 1}})"}) {
    EXPECT_THAT(ReadIndex("i", text), StatusIs(kInvalid, HasSubstr("i: "))) << text;
  }
}

TEST(MemoryTable, PrintsAcceleratesNumbers) {
  EXPECT_EQ(HumanBytes(433'249'280), "413.18 MB");
  EXPECT_EQ(HumanBytes(90'669'056), "86.47 MB");
  EXPECT_EQ(HumanBytes(512), "512.0 bytes");
  const std::string table =
      MemoryTable("bert", {433'249'280, 90'669'056, "embeddings"}, {"float32", "int4"});
  EXPECT_THAT(table, HasSubstr("Memory usage of bert (largest layer: embeddings)\n\n"));
  EXPECT_THAT(table, HasSubstr("float32       86.47 MB   413.18 MB              1.61 GB\n"));
  EXPECT_THAT(table, HasSubstr("int4          10.81 MB    51.65 MB                  N/A\n"));
}

}  // namespace
}  // namespace accel::cli
