#include "common/suggest.h"

#include <gtest/gtest.h>

namespace accel::common {
namespace {

TEST(Nearest, FindsATypo) {
  const std::vector<std::string> known = {"launch", "submit", "status", "logs", "cancel", "nodes"};
  EXPECT_EQ(Nearest("sumbit", known), "submit");
  EXPECT_EQ(Nearest("lanch", known), "launch");
  EXPECT_EQ(Nearest("log", known), "logs");
  EXPECT_EQ(Nearest("statuss", known), "status");
}

TEST(Nearest, FindsWhatAnAbbreviationBegins) {
  EXPECT_EQ(Nearest("--num", {"--cpu", "--num_processes", "--num_nodes"}), "--num_processes");
  EXPECT_EQ(Nearest("la", {"launching"}), "");
}

TEST(Nearest, IsEmptyIfNoWordIsNear) {
  EXPECT_EQ(Nearest("train", {"launch", "submit"}), "");
  EXPECT_EQ(Nearest("", {"launch"}), "");
  EXPECT_EQ(Nearest(std::string(10'000, 'x'), {std::string(10'000, 'x')}), "");
}

}  // namespace
}  // namespace accel::common
