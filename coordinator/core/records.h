// Translates between the state of the cluster and the rows that are stored. recover.h builds the
// state from rows.
//
// clang-format off
//   key                            value             written
//   -----------------------------  ----------------  ---------------------------------------------
//   cluster                        StoredCluster     at each start of a coordinator
//   end/JOB                        StoredEnd         when the job's other rows are erased
//   job/JOB/generation/0000000042  GenerationRecord  when the generation starts, fails and ends
//   job/JOB/spec                   JobSpec           once, at the submit
//   job/JOB/state                  StoredJob         at each change of the job
//   node/NODE                      StoredNode        when it registers, and when its drain changes
//   credential, member, token      see coordinator/core/access/access_rows.h
// clang-format on
//
// A job's spec may have two megabytes, and its state changes five times or more. They have separate
// rows, so that a change writes a few hundred bytes, or some KiB after a failure.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/core/cluster_state.h"
#include "coordinator/core/rows.h"
#include "proto/store.pb.h"

namespace accel::coordinator {

// The version of the layout above. A coordinator refuses rows that have a later version.
inline constexpr int kStoreSchema = 2;

inline constexpr absl::string_view kClusterKey = "cluster";

// The parts of a key.
struct RowKey {
  enum class Kind { kCluster, kEnd, kGeneration, kSpec, kState, kNode };
  Kind kind = Kind::kCluster;
  std::string id;                     // The id of the job or node. Empty for kCluster.
  common::Generation generation = 0;  // For kGeneration.
};

// Splits a key into its parts. INVALID_ARGUMENT: no version of accel has written such a key.
absl::StatusOr<RowKey> ParseRowKey(absl::string_view key);

// Returns the rows that store these changes of `state`.
RowBatch RowsOf(const ClusterState& state, const Changes& changes);

}  // namespace accel::coordinator
