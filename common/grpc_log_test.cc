#include "common/grpc_log.h"

#include <grpc/support/log.h>
#include <gtest/gtest.h>

#include <string>

namespace accel::common {
namespace {

TEST(GrpcLogTest, IsEscapedBoundedAndThrottled) {
  TakeGrpcLog();
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);  // What gRPC does when it starts.
  ::testing::internal::CaptureStderr();
  const std::string text = "planted \033[2J\n" + std::string(10'000, 'x');
  for (int i = 0; i < 1000; ++i) {
    gpr_log(GPR_ERROR, "%s", text.c_str());
  }
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("planted"), std::string::npos) << log;
  EXPECT_EQ(log.find('\033'), std::string::npos) << log;
  EXPECT_LT(log.size(), 10'000u);
}

}  // namespace
}  // namespace accel::common
