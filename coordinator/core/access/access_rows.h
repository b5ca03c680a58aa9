// Translates between the access state and the rows that are stored.
//
// clang-format off
//   key                 value        written
//   ------------------  -----------  -------------------------------------------------------------
//   credential/SERIAL   Credential   when it is issued, seen (hourly), replaced, revoked, or
//                                    forgotten, or has made room for another one
//   member/node/ID      Member       when a node joins or is removed
//   member/user/NAME    Member       when a user is added, changed or removed
//   token/ID            Token        when a one-time key is made, spent or dropped
// clang-format on
#pragma once

#include "absl/status/statusor.h"
#include "coordinator/core/access/access_state.h"
#include "coordinator/core/rows.h"

namespace accel::coordinator {

// Adds to *batch the rows that store these changes of `state`. Entries that `state` no longer
// has are erased.
void AddAccessRows(const AccessState& state, const AccessChanges& changes, RowBatch* batch);

// Takes a row into *state. Returns false if the row is not one of the access state. DATA_LOSS: the
// row is damaged. The message has the key of the row, and nothing of its value.
absl::StatusOr<bool> TakeAccessRow(const Row& row, AccessState* state);

}  // namespace accel::coordinator
