#include "runtime/core/sharding/named_value.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace accel::runtime {
namespace {

constexpr std::string_view kNames[] = {"FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD"};

TEST(NamedValueTest, FindsANameInAnyCase) {
  EXPECT_EQ(find_name("no_Shard", kNames), 2u);
  EXPECT_EQ(find_name("NO-SHARD", kNames), std::size(kNames));
  EXPECT_EQ(find_name("", kNames), std::size(kNames));
}

TEST(NamedValueTest, ARefusalHasTheKeyTheValueTheNamesAndTheNearest) {
  std::string message;
  try {
    refuse_name("KEY", "full_shrad", kNames, " (or 1 to 3)");
  } catch (const std::invalid_argument& error) {
    message = error.what();
  }
  EXPECT_EQ(message,
            "KEY=\"full_shrad\" should be FULL_SHARD, SHARD_GRAD_OP or NO_SHARD (or 1 to 3), did "
            "you mean FULL_SHARD?");
}

TEST(NamedValueTest, TextFromOutsideIsBoundedAndPrintable) {
  EXPECT_EQ(in_quotes("a\nb\x1b"), "\"a?b?\"");
  EXPECT_EQ(in_quotes(std::string(5000, 'x')).size(), 105u);
  EXPECT_EQ(suggestion(std::string(5000, 'x'), kNames), "");
  EXPECT_EQ(suggestion("unrelated", kNames), "");
}

}  // namespace
}  // namespace accel::runtime
