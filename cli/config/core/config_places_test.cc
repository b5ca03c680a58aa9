#include "cli/config/core/config_places.h"

#include <gtest/gtest.h>

#include <map>

namespace accel::cli {
namespace {

std::string Path(const std::map<std::string, std::string>& env) {
  return DefaultConfigPath([&](const std::string& name) -> std::optional<std::string> {
    const auto found = env.find(name);
    if (found == env.end()) return std::nullopt;
    return found->second;
  });
}

TEST(DefaultConfigPath, FollowsAcceleratesOrder) {
  const std::string file = "/accelerate/default_config.yaml";
  EXPECT_EQ(Path({{"HOME", "/h"}}), "/h/.cache/huggingface" + file);
  EXPECT_EQ(Path({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/x"}}), "/x/huggingface" + file);
  EXPECT_EQ(Path({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/x"}, {"HF_HOME", "/hf"}}), "/hf" + file);
  EXPECT_EQ(Path({{"HOME", "/h"}, {"HF_HOME", "~/hf"}}), "/h/hf" + file);
}

}  // namespace
}  // namespace accel::cli
