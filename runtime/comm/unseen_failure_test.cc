#include "runtime/comm/unseen_failure.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace accel::runtime {
namespace {

// Writes to standard error when it is destroyed, which must not be skipped.
struct Last {
  ~Last() { std::fputs("destroyed\n", stderr); }
};

void end(bool fails, int status) {
  watch_exit_code();
  static const Last last;
  if (fails) fail_at_exit();
  std::exit(status);
}

TEST(UnseenFailureDeathTest, OnlyTheExitCodeOfSuccessChanges) {
  EXPECT_EXIT(end(true, 0), testing::ExitedWithCode(1), "destroyed");
  EXPECT_EXIT(end(true, 7), testing::ExitedWithCode(7), "destroyed");
  EXPECT_EXIT(end(false, 0), testing::ExitedWithCode(0), "destroyed");
}

}  // namespace
}  // namespace accel::runtime
