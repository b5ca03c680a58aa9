// ACCEL_RETURN_IF_ERROR and ACCEL_ASSIGN_OR_RETURN, which have the meaning of the macros in newer
// versions of Abseil. Delete this file once Debian's Abseil has absl/status/status_macros.h.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define ACCEL_STATUS_CONCAT_INNER(a, b) a##b
#define ACCEL_STATUS_CONCAT(a, b) ACCEL_STATUS_CONCAT_INNER(a, b)

#define ACCEL_RETURN_IF_ERROR(expression)                                 \
  do {                                                                    \
    if (absl::Status accel_status_ = (expression); !accel_status_.ok()) { \
      return accel_status_;                                               \
    }                                                                     \
  } while (false)

#define ACCEL_ASSIGN_OR_RETURN(declaration, expression)                                      \
  ACCEL_ASSIGN_OR_RETURN_INNER(ACCEL_STATUS_CONCAT(accel_status_or_, __LINE__), declaration, \
                               expression)

#define ACCEL_ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
  auto result = (expression);                                         \
  if (!result.ok()) return std::move(result).status();                \
  declaration = std::move(result).value()
