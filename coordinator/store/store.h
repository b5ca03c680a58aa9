// The interface of the store from which a coordinator loads its rows and to which it commits them.
// coordinator/core/records.h says what the rows hold. A store does not interpret them.
#pragma once

#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/core/rows.h"

namespace accel::coordinator {

// A store of rows. Only one thread at a time calls it: Load() is called before the coordinator's
// loop starts, and Commit() by the loop.
class Store {
 public:
  virtual ~Store() = default;

  // Returns all stored rows, sorted by key. Called once, before the first commit. DATA_LOSS: the
  // stored rows are damaged. Other errors: they cannot be read now.
  virtual absl::StatusOr<std::vector<Row>> Load() = 0;

  // Stores a batch and calls `done` exactly once, on any thread, possibly before this returns. OK
  // means that the batch survives a crash, as far as this store can. After an error, the batch is
  // stored completely or not at all. At most one commit may be in progress. Never blocks
  // on the disk.
  virtual void Commit(RowBatch batch, absl::AnyInvocable<void(absl::Status)> done) = 0;
};

}  // namespace accel::coordinator
