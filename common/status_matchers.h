// Matchers of gtest for absl::Status: EXPECT_OK, ASSERT_OK, ASSERT_OK_AND_ASSIGN, and
// StatusIs(code, message matcher).
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/status_macros.h"

namespace accel::testing {

inline const absl::Status& AsStatus(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& AsStatus(const absl::StatusOr<T>& result) {
  return result.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << AsStatus(arg);
  return AsStatus(arg).ok();
}

MATCHER_P2(StatusIs, code, message, "has this code and a matching message") {
  *result_listener << AsStatus(arg);
  return AsStatus(arg).code() == code &&
         ::testing::ExplainMatchResult(message, std::string(AsStatus(arg).message()),
                                       result_listener);
}

}  // namespace accel::testing

#define EXPECT_OK(expression) EXPECT_THAT((expression), ::accel::testing::IsOk())
#define ASSERT_OK(expression) ASSERT_THAT((expression), ::accel::testing::IsOk())
// Declares or assigns the value of an absl::StatusOr, or fails the test. Can only be used in
// functions that return void.
#define ASSERT_OK_AND_ASSIGN(declaration, expression)                                            \
  ACCEL_ASSERT_OK_AND_ASSIGN_INNER(ACCEL_STATUS_CONCAT(accel_status_or_, __LINE__), declaration, \
                                   expression)
#define ACCEL_ASSERT_OK_AND_ASSIGN_INNER(result, declaration, expression) \
  auto result = (expression);                                             \
  ASSERT_OK(result);                                                      \
  declaration = std::move(result).value()
