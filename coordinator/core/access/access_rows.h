// Translates between the access state and the rows that are stored.
//
// clang-format off
//   key                 value        written
//   ------------------  -----------  -------------------------------------------------------------
//   credential/SERIAL   Credential   when it is issued, first used, replaced or revoked
//   member/node/ID      Member       when a node joins
//   member/user/NAME    Member       when a user is added or changed
//   token/ID            Token        when a one-time key is made or spent
// clang-format on
#pragma once

#include "absl/status/statusor.h"
#include "coordinator/core/access/access_state.h"
#include "coordinator/core/rows.h"

namespace accel::coordinator {

// Adds to *batch the rows that store these changes of `state`.
void AddAccessRows(const AccessState& state, const AccessChanges& changes, RowBatch* batch);

// Takes a row into *state. Returns false if it is not a row of the access state. DATA_LOSS: it is
// damaged; the message has its key, and nothing of its value.
absl::StatusOr<bool> TakeAccessRow(const Row& row, AccessState* state);

}  // namespace accel::coordinator
