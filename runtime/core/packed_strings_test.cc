#include "runtime/core/packed_strings.h"

#include <gtest/gtest.h>

namespace accel::runtime {
namespace {

using Strings = std::vector<std::string>;

TEST(PackedStringsTest, APeerReadsTheStringsThatWerePacked) {
  for (const Strings& strings :
       {Strings{}, Strings{""}, Strings{"a", "", std::string("\0b\n", 3)}, Strings(1000, "x")}) {
    EXPECT_EQ(unpack_strings(pack_strings(strings)), strings);
  }
}

TEST(PackedStringsTest, AnotherCallsMessageIsNotAList) {
  EXPECT_EQ(unpack_strings("short"), std::nullopt);
  EXPECT_EQ(unpack_strings("gather: Float [2, 3]"), std::nullopt);
  // Lengths that reach beyond the end, of which the second overflows a position.
  EXPECT_EQ(unpack_strings(pack_strings({"abc"}).substr(0, 10)), std::nullopt);
  EXPECT_EQ(unpack_strings(std::string(8, '\xff') + "abc"), std::nullopt);
  EXPECT_EQ(unpack_strings(pack_strings({"abc"}) + "x"), std::nullopt);
}

}  // namespace
}  // namespace accel::runtime
