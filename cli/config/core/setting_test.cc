#include "cli/config/core/setting.h"

#include <set>

#include "cli/config/core/read_value.h"
#include "common/status_matchers.h"

namespace accel::cli {
namespace {

TEST(Settings, HaveUniqueNamesAndVariables) {
  std::set<absl::string_view> names, variables;
  for (const Setting* setting : AllSettings()) {
    EXPECT_TRUE(names.insert(setting->name).second) << setting->name;
    EXPECT_FALSE(setting->help.empty()) << setting->name;
    if (setting->variable.empty()) continue;
    EXPECT_TRUE(variables.insert(setting->variable).second) << setting->variable;
  }
}

TEST(Settings, HaveDefaultsOfTheirOwnType) {
  for (const Setting* setting : AllSettings()) {
    if (setting->fallback.empty()) continue;
    EXPECT_OK(ReadFileValue(*setting, DefaultOf(*setting))) << setting->name;
  }
}

TEST(Settings, HaveThePrefixOfTheirSection) {
  for (const Setting* setting : AllSettings()) {
    if (setting->section.empty()) continue;
    bool found = false;
    for (const Section& section : AllSections()) {
      if (section.name != setting->section) continue;
      found = setting->name.substr(0, section.prefix.size()) == section.prefix;
    }
    EXPECT_TRUE(found) << setting->name;
  }
}

TEST(Settings, ReplaceOldNames) {
  for (const OldName& old : OldNames()) {
    EXPECT_EQ(FindSetting(old.old_name), nullptr);
    EXPECT_EQ(GetSetting(old.name).section, old.section);
  }
}

}  // namespace
}  // namespace accel::cli
