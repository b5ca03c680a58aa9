#include "runtime/core/weight_shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "accel/errors.h"

namespace accel::runtime {
namespace {

using ::testing::ElementsAre;

TEST(ByteSize, NumbersAndTexts) {
  EXPECT_EQ(ByteSize(7).bytes, 7u);
  EXPECT_EQ(ByteSize("10GB").bytes, 10'000'000'000u);
  EXPECT_EQ(ByteSize("1.5 kb").bytes, 1500u);
  EXPECT_EQ(ByteSize("2TB").bytes, 2'000'000'000'000u);
  for (const char* text : {"", "5", "GB", "5GiB", "-1KB", "5XB", "nanGB", "1e30TB"}) {
    EXPECT_THROW(ByteSize{text}, std::invalid_argument) << text;
  }
}

std::vector<std::vector<std::size_t>> split(const std::vector<std::uint64_t>& sizes,
                                            std::uint64_t max) {
  std::vector<WeightSize> weights;
  for (const std::uint64_t size : sizes) weights.push_back({"w", size});
  std::vector<std::vector<std::size_t>> positions;
  for (const WeightFile& file : split_into_files(weights, max)) positions.push_back(file.weights);
  return positions;
}

using Positions = std::vector<std::size_t>;

TEST(SplitIntoFiles, FillsFilesInOrderUpToTheLimit) {
  EXPECT_THAT(split({6, 6, 2, 6, 2, 2}, 10),
              ElementsAre(Positions{0}, Positions{1, 2}, Positions{3, 4, 5}));
  // A weight that is too large gets its own file, which comes before the one being filled.
  EXPECT_THAT(split({3, 11, 3, 11}, 10), ElementsAre(Positions{1}, Positions{3}, Positions{0, 2}));
  EXPECT_THAT(split({}, 10), ElementsAre(Positions{}));
}

TEST(SplitIntoFiles, Names) {
  EXPECT_EQ(split_into_files({{"w", 1}}, 10)[0].name, "model.safetensors");
  EXPECT_EQ(split_into_files({{"w", 1}, {"v", 1}}, 1)[1].name, "model-00002-of-00002.safetensors");
  for (const char* ours :
       {"model.safetensors", "model-00001-of-00003.safetensors", "model.safetensors.index.json"}) {
    EXPECT_TRUE(is_weights_file(ours)) << ours;
  }
  for (const char* other : {"model_1.safetensors", "my-model.safetensors", "config.json",
                            "model-00001-of-00003.safetensors.bak"}) {
    EXPECT_FALSE(is_weights_file(other)) << other;
  }
}

TEST(Index, HasTheSameBytesAsPythons) {
  const std::vector<WeightSize> weights{{"b", 4}, {"é", 6}};
  const std::string text = index_json(weights, split_into_files(weights, 4));
  EXPECT_EQ(text, R"({
  "metadata": {
    "total_size": 10
  },
  "weight_map": {
    "b": "model-00002-of-00002.safetensors",
    "\u00e9": "model-00001-of-00002.safetensors"
  }
}
)");
  EXPECT_EQ(parse_index(text, "i").at("é"), "model-00001-of-00002.safetensors");
}

// nlohmann's dump() and copies recurse, so deep nesting would overflow the stack.
TEST(Index, DeepNestingIsRefused) {
  const std::string deep = std::string(1 << 20, '[') + std::string(1 << 20, ']');
  EXPECT_THROW(parse_index("{\"weight_map\":{\"a\":" + deep + "}}", "i"), CheckpointError);
}

TEST(Index, FilesOutsideTheFolderAreRefused) {
  for (const char* text : {"[]", "{}", R"({"weight_map":1})", R"({"weight_map":{"a":1}})",
                           R"({"weight_map":{"a":"../b"}})", R"({"weight_map":{"a":".."}})"}) {
    EXPECT_THROW(parse_index(text, "i"), CheckpointError) << text;
  }
}

}  // namespace
}  // namespace accel::runtime
