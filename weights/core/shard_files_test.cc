#include "weights/core/shard_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/checkpoint_error.h"
#include "weights/core/shard_writer.h"

namespace accel::weights {
namespace {

using ::testing::HasSubstr;

SafetensorsHeader parsed(const std::string& header, std::uint64_t size) {
  return parse_header(std::string_view(header).substr(8), size, "file");
}

// A part of a matrix that is cut inside of its rows, and a bias.
std::vector<ShardPiece> pieces_of(int rank) {
  std::vector<ShardPiece> pieces;
  for (const Box& box : boxes_of_range({3, 4}, rank == 0 ? 0 : 6, rank == 0 ? 6 : 12)) {
    pieces.push_back({.name = "weight", .shape = {3, 4}, .box = box});
  }
  const Box bias = {.offsets = {rank == 0 ? 0 : 3}, .sizes = {rank == 0 ? 3 : 0}};
  pieces.push_back({.name = "bias", .dtype = SafetensorsDtype::kBF16, .shape = {3}, .box = bias});
  return pieces;
}

TEST(ShardFilesTest, TheFilesOfAllRanksHoldEachTensorOnce) {
  SavedTensors saved;
  for (const int rank : {0, 1}) {
    const std::vector<ShardPiece> pieces = pieces_of(rank);
    for (const ShardFile& file : shard_files(pieces, rank)) {
      std::uint64_t bytes = file.header.size();
      for (const std::size_t i : file.pieces) {
        const ShardPiece& piece = pieces[i];
        bytes += elements(piece.box) * element_size(piece.dtype);
      }
      EXPECT_EQ(bytes, file.size);
      saved.files.push_back(file.name);
      add_shard_file(parsed(file.header, file.size), saved);
    }
  }
  check_complete(saved, "folder");
  EXPECT_EQ(saved.files.size(), 4u);  // Each rank holds two boxes of the matrix.
  EXPECT_EQ(saved.files[0], "shard-00000-model-00001-of-00002.safetensors");
  EXPECT_EQ(saved.tensors.at("weight").shape, (Shape{3, 4}));
  EXPECT_EQ(saved.tensors.at("bias").pieces.size(), 1u);
}

TEST(ShardFilesTest, AMissingFileIsFoundByTheShape) {
  SavedTensors saved;
  const ShardFile file = shard_files(pieces_of(0), 0)[0];
  saved.files.push_back(file.name);
  add_shard_file(parsed(file.header, file.size), saved);
  EXPECT_THROW(check_complete(saved, "folder"), CheckpointError);
}

TEST(ShardFilesTest, ATensorWithoutElementsIsKept) {
  const std::vector<ShardPiece> pieces = {{.name = "none", .shape = {0, 4}, .box = whole({0, 4})}};
  SavedTensors saved{.files = {"file"}, .tensors = {}};
  const ShardFile file = shard_files(pieces, 0)[0];
  add_shard_file(parsed(file.header, file.size), saved);
  EXPECT_EQ(saved.tensors.at("none").shape, (Shape{0, 4}));
  check_complete(saved, "folder");
}

TEST(ShardFilesTest, FilesOfTorchHaveNoShapes) {
  SavedTensors saved;
  for (const int rank : {1, 0}) {
    const SafetensorsHeader header =
        lay_out({{.name = "weight", .shape = {2, 4}}},
                {{"DCP_SHARDING_INFO",
                  R"({"weight": {"saved_offsets": [)" + std::to_string(2 * rank) + ", 0]}}"}});
    saved.files.push_back("file");
    add_shard_file(header, saved);
  }
  EXPECT_EQ(saved.tensors.at("weight").shape, (Shape{4, 4}));
  check_complete(saved, "folder");
}

TEST(ShardFilesTest, AMalformedPlaceIsRefused) {
  for (const char* info :
       {"[]", "{", "{}", R"({"weight": 3})", R"({"weight": {"saved_offsets": 0}})",
        R"({"weight": {"saved_offsets": [0]}})", R"({"weight": {"saved_offsets": [-1, 0]}})",
        R"({"weight": {"saved_offsets": [9223372036854775807, 0]}})",
        R"({"weight": {"saved_offsets": [18446744073709551615, 0]}})",
        R"({"weight": {"saved_offsets": [1, 0], "full_shape": [2, 4]}})",
        R"({"weight": {"saved_offsets": [0, 0], "full_shape": [2]}})"}) {
    SavedTensors saved{.files = {"file"}, .tensors = {}};
    const SafetensorsHeader header =
        lay_out({{.name = "weight", .shape = {2, 4}}}, {{"DCP_SHARDING_INFO", info}});
    try {
      add_shard_file(header, saved);
      ADD_FAILURE() << "accepted " << info;
    } catch (const CheckpointError& error) {
      EXPECT_THAT(error.what(), HasSubstr("file: the place of tensor")) << info;
    }
  }
}

}  // namespace
}  // namespace accel::weights
