// A store in memory. Its rows are lost with the process. `accel launch` uses it, because its
// cluster lives as long as its job.
#pragma once

#include <map>
#include <string>

#include "coordinator/store/store.h"

namespace accel::coordinator {

// Not thread-safe, because Store does not require it. `done` runs before Commit() returns.
class MemoryStore final : public Store {
 public:
  absl::StatusOr<std::vector<Row>> Load() override;
  void Commit(RowBatch batch, absl::AnyInvocable<void(absl::Status)> done) override;

 private:
  std::map<std::string, std::string> rows_;
};

}  // namespace accel::coordinator
