#include "upload/core/tree.h"

#include <random>
#include <utility>

#include "absl/strings/str_replace.h"
#include "common/status_matchers.h"
#include "upload/core/bad_trees.h"

namespace accel::upload {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;

Tree GoodTree() {
  Tree tree = {FileEntry("a-b", 0), LinkEntry("a/here", "."), LinkEntry("a/up", "../a-b"),
               FileEntry("a/ü x", 5), LinkEntry("to", "a/up")};
  tree[3].executable = true;
  return tree;
}

TEST(TreeTest, AManifestIsItsTree) {
  const Tree tree = GoodTree();
  ASSERT_OK(CheckTree(tree));
  const std::string manifest = ToManifest(tree);
  EXPECT_THAT(manifest, HasSubstr("accel tree 1\nf\t0644\t0\t"));
  EXPECT_THAT(manifest, HasSubstr("\nl\t../a-b\ta/up\n"));
  ASSERT_OK_AND_ASSIGN(const Tree parsed, ParseManifest(manifest));
  EXPECT_EQ(parsed, tree);
}

TEST(TreeTest, RefusesEachBadTree) {
  for (const BadTree& bad : BadTrees()) {
    const absl::Status checked = CheckTree(bad.tree);
    EXPECT_FALSE(checked.ok()) << bad.what;
    EXPECT_THAT(std::string(checked.message()), HasSubstr(bad.error)) << bad.what;
    EXPECT_FALSE(ParseManifest(ToManifest(bad.tree)).ok()) << bad.what;
  }
}

TEST(TreeTest, ATreeAtItsBoundsIsAccepted) {
  std::string deep = "d";
  for (int i = 1; i < 32; ++i) deep += "/d";
  EXPECT_OK(CheckTree({FileEntry(deep, kMaxTreeBytes)}));
  Tree many;
  for (size_t i = 0; i < kMaxEntries; ++i) many.push_back(FileEntry(absl::StrCat(100'000 + i)));
  EXPECT_OK(ParseManifest(ToManifest(many)));
}

TEST(TreeTest, AManifestHasOneForm) {
  const std::string manifest = ToManifest(GoodTree());
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"tree 1", "tree 2"},  {"0644", "0600"},    {"\t0\t", "\t00\t"},  {"\t5\t", "\t+5\t"},
      {"\t5\t", "\t 5\t"},   {"aaaa\t", "aaa\t"}, {"aaaa\t", "aaaA\t"}, {"l\t", "h\t"},
      {"a-b\n", "a-b\tx\n"}, {"\t.\t", "\t\t"}};
  for (const auto& [from, to] : changes) {
    const std::string changed = absl::StrReplaceAll(manifest, {{from, to}});
    ASSERT_NE(changed, manifest) << from;
    EXPECT_FALSE(ParseManifest(changed).ok()) << to;
  }
  EXPECT_FALSE(ParseManifest(manifest.substr(0, manifest.size() - 1)).ok());
  EXPECT_FALSE(ParseManifest(manifest + "\n").ok());
  EXPECT_FALSE(ParseManifest("").ok());
  EXPECT_THAT(ParseManifest(std::string(kMaxManifestBytes + 1, 'x')),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("at most 8388608")));
}

// Whatever is accepted has one form and passes the checks.
TEST(TreeTest, DamagedManifestsAreRefusedOrTrees) {
  const std::string manifest = ToManifest(GoodTree());
  std::mt19937 random(77);
  for (int run = 0; run < 20'000; ++run) {
    std::string damaged = manifest;
    for (unsigned i = 0; i <= random() % 3; ++i) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    const absl::StatusOr<Tree> tree = ParseManifest(damaged);
    if (!tree.ok()) continue;
    EXPECT_OK(CheckTree(*tree));
    EXPECT_EQ(ToManifest(*tree), damaged);
  }
}

}  // namespace
}  // namespace accel::upload
