#include "coordinator/store/memory_store.h"

#include <utility>

#include "absl/strings/match.h"

namespace accel::coordinator {

absl::StatusOr<std::vector<Row>> MemoryStore::Load() {
  std::vector<Row> rows;
  for (const auto& [key, value] : rows_) rows.push_back({key, value});
  return rows;
}

void MemoryStore::Commit(RowBatch batch, absl::AnyInvocable<void(absl::Status)> done) {
  for (const std::string& key : batch.erase) {
    if (!absl::EndsWith(key, "/")) {
      rows_.erase(key);
      continue;
    }
    auto last = rows_.lower_bound(key);
    while (last != rows_.end() && absl::StartsWith(last->first, key)) ++last;
    rows_.erase(rows_.lower_bound(key), last);
  }
  for (Row& row : batch.put) rows_[std::move(row.key)] = std::move(row.value);
  done(absl::OkStatus());
}

}  // namespace accel::coordinator
