#include "cli/merge_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "weights/core/shard_writer.h"

namespace accel::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

struct Result {
  int exit_code = -1;
  std::string out, err;
};

Result Merge(const std::vector<std::string>& args) {
  std::ostringstream out, err;
  const int exit_code = RunMergeWeights(args, Console{out, err});
  return {exit_code, out.str(), err.str()};
}

// Writes the part of one rank of two: a row of a matrix.
void WriteRank(const fs::path& folder, int rank) {
  const std::vector<weights::ShardPiece> pieces = {
      {.name = "weight", .shape = {2, 3}, .box = {.offsets = {rank, 0}, .sizes = {1, 3}}}};
  const weights::ShardFile file = weights::shard_files(pieces, rank)[0];
  std::ofstream(folder / file.name, std::ios::binary)
      << file.header << std::string(12, static_cast<char>('a' + rank));
}

fs::path Folder() {
  const fs::path folder = fs::path(::testing::TempDir()) / "checkpoints/7";
  fs::remove_all(folder.parent_path());
  fs::create_directories(folder);
  return folder;
}

TEST(MergeWeights, WritesOneFileBesideTheFolder) {
  const fs::path folder = Folder();
  WriteRank(folder, 0);
  WriteRank(folder, 1);
  const Result merged = Merge({folder.string() + "/"});
  EXPECT_EQ(merged.exit_code, 0) << merged.err;
  EXPECT_THAT(merged.out, HasSubstr("merged 1 tensors into "));
  std::ifstream file(folder.parent_path() / "model.safetensors", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(text.ends_with(std::string(12, 'a') + std::string(12, 'b')));
  EXPECT_EQ(Merge({folder, folder.parent_path() / "other.safetensors"}).exit_code, 0);
  EXPECT_TRUE(fs::exists(folder.parent_path() / "other.safetensors"));
}

TEST(MergeWeights, AMissingFileIsAnErrorAndWritesNothing) {
  const fs::path folder = Folder();
  WriteRank(folder, 0);
  const Result merged = Merge({folder});
  EXPECT_EQ(merged.exit_code, 1);
  EXPECT_THAT(merged.err, HasSubstr("tensor weight has no element [1, 0]"));
  EXPECT_TRUE(fs::is_empty(folder.parent_path()) ||
              !fs::exists(folder.parent_path() / "model.safetensors"));
}

TEST(MergeWeights, AFolderGetsTheFile) {
  const fs::path folder = Folder();
  WriteRank(folder, 0);
  WriteRank(folder, 1);
  const fs::path above = folder.parent_path();
  EXPECT_EQ(Merge({folder, above}).exit_code, 0);
  EXPECT_TRUE(fs::exists(above / "model.safetensors"));
  EXPECT_EQ(Merge({folder, (above / "new").string() + "/"}).exit_code, 0);
  EXPECT_TRUE(fs::exists(above / "new/model.safetensors"));
  EXPECT_EQ(Merge({folder, above / "merged"}).exit_code, 0);
  EXPECT_TRUE(fs::exists(above / "merged/model.safetensors"));
  std::ofstream(above / "weights.bin") << "old";
  EXPECT_EQ(Merge({folder, above / "weights.bin"}).exit_code, 0);
  EXPECT_TRUE(fs::is_regular_file(above / "weights.bin")) << "a file that exists is replaced";
}

TEST(MergeWeights, AFailureLeavesNoNewFolder) {
  const fs::path folder = Folder();
  WriteRank(folder, 0);
  for (const char* name : {"new/", "new"}) {
    EXPECT_EQ(Merge({folder, folder.parent_path() / name}).exit_code, 1);
    EXPECT_FALSE(fs::exists(folder.parent_path() / "new"));
  }
}

TEST(MergeWeights, RemovesTheFolderAfterTheMerge) {
  const fs::path folder = Folder();
  const fs::path above = folder.parent_path();
  fs::create_directories(above / "8");
  WriteRank(folder, 0);
  EXPECT_EQ(Merge({"--remove_checkpoint_dir", folder}).exit_code, 1);
  EXPECT_TRUE(fs::exists(folder)) << "it was incomplete";
  WriteRank(folder, 1);
  const Result merged = Merge({"--remove_checkpoint_dir", "--json", folder.string() + "/"});
  EXPECT_EQ(merged.exit_code, 0) << merged.err;
  EXPECT_THAT(merged.out, HasSubstr("\"tensors\": 1, \"bytes\": "));
  EXPECT_THAT(merged.out, HasSubstr("\"removed_checkpoint_dir\": true"));
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_TRUE(fs::exists(above / "8"));
  EXPECT_TRUE(fs::exists(above / "model.safetensors"));
}

TEST(MergeWeights, RemovesNeitherTheMergedFileNorALinksTarget) {
  const fs::path folder = Folder();
  WriteRank(folder, 0);
  WriteRank(folder, 1);
  for (const fs::path& out : {folder / "x.safetensors", folder, folder / "../7/x.safetensors"}) {
    const Result inside = Merge({"--remove_checkpoint_dir", folder, out});
    EXPECT_EQ(inside.exit_code, 2);
    EXPECT_THAT(inside.err, HasSubstr("would be removed with"));
  }
  const fs::path link = folder.parent_path() / "link";
  fs::create_directory_symlink(folder, link);
  const Result linked = Merge({"--remove_checkpoint_dir", link});
  EXPECT_EQ(linked.exit_code, 2);
  EXPECT_THAT(linked.err, HasSubstr("link is a symbolic link; name the folder itself"));
  for (const char* named : {"link/.", "link/./", "7/.", "7/..", "link/.."}) {
    const Result dots = Merge({"--remove_checkpoint_dir", (folder.parent_path() / named).string(),
                               folder.parent_path().parent_path() / "x.safetensors"});
    EXPECT_EQ(dots.exit_code, 2) << named;
    EXPECT_THAT(dots.err, HasSubstr("; name the folder itself"));
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 2);
}

TEST(MergeWeights, WrongUsageIsExplained) {
  EXPECT_THAT(Merge({"--unsafe_serialization", "x"}).err, HasSubstr("accel writes safetensors"));

  EXPECT_EQ(Merge({}).exit_code, 2);
  EXPECT_EQ(Merge({"a", "b", "c"}).exit_code, 2);
  const Result help = Merge({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr("FOLDER [OUT]"));
}

}  // namespace
}  // namespace accel::cli
