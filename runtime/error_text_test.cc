// error_text(): what exceptions say, without LibTorch's backtrace.
#include "runtime/error_text.h"

#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace accel::runtime {
namespace {

using ::testing::HasSubstr;

TEST(ErrorText, IsWhatTheExceptionSays) {
  EXPECT_EQ(error_text(std::runtime_error("the disk is full")), "the disk is full");
  EXPECT_EQ(error_text(std::make_exception_ptr(std::runtime_error("the disk is full"))),
            "the disk is full");
  EXPECT_EQ(error_text(std::make_exception_ptr(7)), "an exception that is not a std::exception");
  EXPECT_EQ(error_text(std::exception_ptr()), "");
}

TEST(ErrorText, OfLibTorchHasNoBacktrace) {
  try {
    TORCH_CHECK(false, "sizes differ");
  } catch (const c10::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("Exception raised from"));
    EXPECT_EQ(error_text(error), "sizes differ");
    EXPECT_EQ(error_text(std::current_exception()), "sizes differ");
  }
}

}  // namespace
}  // namespace accel::runtime
