#include "cli/config/core/tee.h"

#include <gtest/gtest.h>

namespace accel::cli {
namespace {

TEST(Tee, IsForAllRanks) {
  EXPECT_TRUE(Tee::Parse("0")->IsEmpty());
  const Tee out = *Tee::Parse("1");
  EXPECT_FALSE(out.IsEmpty());
  EXPECT_TRUE(out.Has(5, /*is_stdout=*/true));
  EXPECT_FALSE(out.Has(5, /*is_stdout=*/false));
  EXPECT_TRUE(Tee::Parse("2")->Has(0, /*is_stdout=*/false));
  EXPECT_TRUE(Tee::Parse("3")->Has(0, true) && Tee::Parse("3")->Has(0, false));
}

TEST(Tee, IsForSomeRanks) {
  const Tee tee = *Tee::Parse("0:3,12:2");
  EXPECT_TRUE(tee.Has(0, true) && tee.Has(0, false));
  EXPECT_FALSE(tee.Has(1, true) || tee.Has(1, false));
  EXPECT_FALSE(tee.Has(12, true));
  EXPECT_TRUE(tee.Has(12, false));
}

TEST(Tee, OtherTextsAreRefused) {
  for (const char* bad :
       {"4", "7", "", "a", "0:4", "0:", ":1", "0:1,", "-1:1", "0:1:2", "99999:1", "33"}) {
    EXPECT_FALSE(Tee::Parse(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace accel::cli
