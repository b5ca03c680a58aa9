// The form in which the state of the cluster is stored: rows of bytes under keys. Keys are paths,
// so all rows of one job have one prefix. SQLite, etcd and a map in memory can all keep
// such rows (docs/decisions/0031).
#pragma once

#include <string>
#include <vector>

namespace accel::coordinator {

struct Row {
  std::string key;
  std::string value;
  bool operator==(const Row&) const = default;
};

// A set of changes that is stored completely or not at all. Rows are erased before
// others are written.
struct RowBatch {
  std::vector<Row> put;  // Rows to add or replace. Names each key at most once.
  // Keys of rows to erase. A key that ends with "/" stands for all keys that start with it.
  std::vector<std::string> erase;

  bool empty() const { return put.empty() && erase.empty(); }
};

}  // namespace accel::coordinator
