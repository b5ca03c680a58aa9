#include "common/descriptors.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace accel::common {
namespace {

TEST(Descriptors, TheSoftLimitIsRaisedToTheHardLimit) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit small{100, 200};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &small), 0);
  EXPECT_EQ(DescriptorLimit(), 100);
  EXPECT_EQ(RaiseDescriptorLimit().rlim_cur, 100u);
  EXPECT_EQ(DescriptorLimit(), 200);
}

}  // namespace
}  // namespace accel::common
