// Compares the tables of docs/configuring.md with the table of settings.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/config/core/read_value.h"
#include "cli/config/core/setting.h"

namespace accel::cli {
namespace {

std::string Quoted(absl::string_view text) {
  return text.empty() ? "" : absl::StrCat("`", text, "`");
}

std::string WhereGiven(const Setting& setting) {
  if (!IsFlag(setting)) return "file";
  return IsInFile(setting) ? "file, flag" : "flag";
}

// Returns what follows from a setting: the variable that workers get, or what accel does about it.
std::string Result(const Setting& setting) {
  if (!setting.variable.empty()) return Quoted(setting.variable);
  if (setting.effect == Effect::kReplaced) return "no effect";
  return setting.effect == Effect::kRefused ? "refused" : "";
}

// Returns the row that the page must have.
std::string Row(const Setting& setting) {
  return absl::StrCat("| `", setting.name, "` | ", WhereGiven(setting), " | ", Expected(setting),
                      " | ", Quoted(setting.fallback), " | ", Result(setting), " | ", setting.help,
                      " |\n");
}

TEST(Configuring, HasARowForEverySetting) {
  std::ifstream file("docs/configuring.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(page.empty());
  for (const Setting* setting : AllSettings()) {
    EXPECT_TRUE(absl::StrContains(page, Row(*setting))) << "missing row: " << Row(*setting);
  }
}

}  // namespace
}  // namespace accel::cli
