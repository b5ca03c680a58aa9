// What the real store of a coordinator finds after a crash has cut a commit short.
//
// A crash leaves any part of the bytes that a commit has written. A simulation that simply forgot
// such a commit would assume what it has to show. Here the real SqliteFile writes the commit to a
// real file, loses a part of it, and says which rows the file has.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/core/rows.h"

namespace accel::simulation {

// Returns the rows of a file that had `before`, after a crash that has left only the first part of
// what the commit of `batch` appends to the file's log. `part` is from 0 to 1. Errors are those of
// SqliteFile.
absl::StatusOr<std::vector<coordinator::Row>> RowsAfterTornCommit(
    const std::vector<coordinator::Row>& before, const coordinator::RowBatch& batch, double part);

}  // namespace accel::simulation
