// The rows of a coordinator's store, which a disk may have damaged, or another version written.
//
// The input is a list of rows: the size of a key (one byte), the key, the size of a value (two
// bytes, little-endian), and the value. Sizes that exceed the input are cut.
#include <algorithm>
#include <string>
#include <vector>

#include "common/check.h"
#include "coordinator/core/planner.h"
#include "coordinator/core/records.h"
#include "coordinator/core/recover.h"
#include "tests/fuzz/refusal.h"
#include "tests/fuzz/target.h"

namespace accel::coordinator {
namespace {

std::string Take(size_t size, absl::string_view* from) {
  const std::string taken(from->substr(0, size));
  from->remove_prefix(taken.size());
  return taken;
}

size_t TakeSize(size_t width, absl::string_view* from) {
  size_t size = 0, shift = 0;
  for (const char byte : Take(width, from)) {
    size |= static_cast<size_t>(static_cast<unsigned char>(byte)) << shift;
    shift += 8;
  }
  return size;
}

std::vector<Row> RowsIn(absl::string_view bytes) {
  std::vector<Row> rows;
  while (!bytes.empty()) {
    Row row;
    row.key = Take(TakeSize(1, &bytes), &bytes);
    row.value = Take(TakeSize(2, &bytes), &bytes);
    // A store has each key once.
    const bool is_new = std::none_of(rows.begin(), rows.end(),
                                     [&](const Row& other) { return other.key == row.key; });
    if (is_new) rows.push_back(std::move(row));
  }
  return rows;
}

// Returns the changes that write the whole state.
Changes All(const ClusterState& state) {
  Changes all;
  all.cluster = true;
  for (const auto& [id, entry] : state.jobs) {
    JobChange& change = all.put[id];
    change.created = true;
    for (const auto& record : entry.job.generations()) {
      change.generations.insert(record.generation());
    }
  }
  for (const auto& [id, node] : state.nodes) all.registered.insert(id);
  for (const auto& [id, member] : state.access.members) all.access.members.insert(id);
  for (const auto& [serial, one] : state.access.credentials) all.access.credentials.insert(serial);
  for (const auto& [id, token] : state.access.tokens) all.access.tokens.insert(id);
  return all;
}

}  // namespace

FUZZ_TARGET(bytes) {
  const absl::Time now = absl::FromUnixSeconds(1'000'000),
                   wall = absl::FromUnixSeconds(1'800'000'000);
  const Opening opening = {now, wall, "boot-1", "cluster", "root"};
  Changes changes;
  auto state = Recover(RowsIn(bytes), Limits(), opening, &changes);
  if (!state.ok()) return fuzz::CheckRefusal(state.status());
  const auto again = Recover(RowsOf(*state, All(*state)).put, Limits(), opening);
  ACCEL_CHECK(again.ok(), "what was recovered can be stored and recovered");
  ACCEL_CHECK(DescribeRecovery(*again) == DescribeRecovery(*state), "no job or node is lost");
  // The coordinator continues from there.
  PlanToRest(now, wall, &*state, &changes);
  RowsOf(*state, changes);
}

}  // namespace accel::coordinator
