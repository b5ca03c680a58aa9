#include "upload/core/ignore_rules.h"

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"

namespace accel::upload {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;

// A path that ends with a slash is a folder.
bool LeavesOut(absl::string_view rules, std::string path) {
  const auto parsed = IgnoreRules::Parse(rules);
  EXPECT_OK(parsed);
  const bool is_folder = path.back() == '/';
  if (is_folder) path.pop_back();
  return parsed->LeavesOut(path, is_folder);
}

// Compared with `git check-ignore` of git 2.39. Two rows differ: `?` is a character here and a byte
// there, and git answers for what is in a folder that is left out, which is not asked here.
TEST(IgnoreRulesTest, DecidesAsGitDoes) {
  struct Row {
    const char* rules;
    const char* path;
    bool left_out;
  };
  const Row rows[] = {
      {"*.log", "a.log", true},
      {"*.log", "d/a.log", true},
      {"*.log", "a.log.txt", false},
      {"*", "x", true},
      {"*a*b*", "xaxxbx", true},
      {"*a*b*", "xbxa", false},
      {"build/", "build/", true},
      {"build/", "build", false},
      {"build/", "d/build/", true},
      {"/data", "data", true},
      {"/data", "d/data", false},
      {"d/data", "d/data", true},
      {"d/data", "e/d/data", false},
      {"/d/*", "d/x", true},
      {"/d/*", "d/e/x", false},
      {"**/x", "x", true},
      {"**/x", "a/b/x", true},
      {"a/**", "a/", false},
      {"a/**", "a/b", true},
      {"a/**", "a/b/c", true},
      {"a/**/b", "a/b", true},
      {"a/**/b", "a/x/y/b", true},
      {"a/**/b", "x/a/b", false},
      {"a**b", "axxb", true},
      {"?.py", "a.py", true},
      {"?.py", "ü.py", true},
      {"?.py", "ab.py", false},
      {"[a-c]x", "bx", true},
      {"[a-c]x", "dx", false},
      {"[!a-c]x", "dx", true},
      {"[^a-c]x", "bx", false},
      {"[]x]y", "]y", true},
      {"[a-]y", "-y", true},
      {"[\\]]y", "]y", true},
      {"\\*", "*", true},
      {"\\*", "x", false},
      {"\\#x", "#x", true},
      {"#x", "#x", false},
      {"\\!x", "!x", true},
      {"x  ", "x", true},
      {"x\\ ", "x ", true},
      {"x\r\ny", "x", true},
      {"*.log\n!keep.log", "keep.log", false},
      {"!keep.log\n*.log", "keep.log", true},
      {"*.log\n!/keep.log", "d/keep.log", true},
      {"", "x", false},
      {"\n\n/\n", "x", false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(LeavesOut(row.rules, row.path), row.left_out) << row.rules << " " << row.path;
  }
}

TEST(IgnoreRulesTest, HasRulesOfItsOwn) {
  EXPECT_TRUE(LeavesOut("", ".git/"));
  EXPECT_TRUE(LeavesOut("", "a/.git"));  // Submodules have a file of that name.
  EXPECT_TRUE(LeavesOut("", "a/__pycache__/"));
  EXPECT_FALSE(LeavesOut("!.git", ".git/"));
  EXPECT_FALSE(LeavesOut("", ".gitignore"));
}

TEST(IgnoreRulesTest, RefusesWhatExceedsABound) {
  EXPECT_THAT(IgnoreRules::Parse("a\n[b"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line 2: a class has no ]")));
  EXPECT_FALSE(IgnoreRules::Parse(std::string(kMaxIgnoreBytes + 1, '\n')).ok());
  std::string many;
  for (size_t i = 0; i < kMaxIgnoreRules; ++i) absl::StrAppend(&many, "x", i, "\n");
  EXPECT_THAT(IgnoreRules::Parse(many),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("more than 1000")));
}

TEST(IgnoreRulesTest, ManyStarsAreFast) {
  std::string pattern;
  for (int i = 0; i < 500; ++i) pattern += "*a";
  EXPECT_FALSE(LeavesOut(pattern + "b", std::string(10'000, 'a')));
}

}  // namespace
}  // namespace accel::upload
