// The machines that take part in one launch, with their names and their order, until all of them
// are here. Pure. Not thread-safe.
//
// clang-format off
//   join h1 (serves) ─▶ 1 of 3     join h2 ─▶ 2 of 3     h2 leaves ─▶ 1 of 3
//   join h3 ─▶ 2 of 3              join h2 ─▶ 3 of 3: complete, with the order h1, h2, h3
//   join h4 ─▶ refused: the run has its 3 machines
// clang-format on
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/run.pb.h"

namespace accel::cli {

// Maximum sizes of the facts that a machine sends about itself.
inline constexpr int kMaxRunTerms = 512;
inline constexpr size_t kMaxRunTermBytes = 64 << 10;  // All terms of a machine together.
inline constexpr size_t kMaxRunTextBytes = 256;
inline constexpr int kMaxRunProcesses = 1024;

// Checks sizes and forms. INVALID_ARGUMENT: the message names the field.
absl::Status CheckMachine(const v1::RunMachine& machine);

class Gathering {
 public:
  using Id = int;  // Identifies a machine until it leaves. Never reused.

  struct Member {
    v1::RunMachine machine;
    // The host's name. Has a number if another member has the same name.
    std::string node_name;
    int placement_order = 0;  // From 1. 0 until the gathering is complete.
  };

  // `machines` is at least 1.
  explicit Gathering(int machines) : machines_(machines) {}

  // Lets a machine take part. The first machine that joins sets the terms for all others.
  // INVALID_ARGUMENT: as for CheckMachine(), or the machine's terms or version differ; the message
  // has both values. ALREADY_EXISTS: another machine has its machine rank. OUT_OF_RANGE: there is
  // no such machine rank. RESOURCE_EXHAUSTED: the gathering is or was complete.
  absl::StatusOr<Id> Join(const v1::RunMachine& machine);

  // Removes a machine. If the gathering was complete before, no other machine gets its place.
  void Leave(Id id);

  // Returns true once all machines are here. Remains true if machines leave later.
  bool complete() const { return complete_; }
  int machines() const { return machines_; }
  const std::map<Id, Member>& members() const { return members_; }

  // Returns the hosts that are here, in the order in which they joined.
  std::vector<std::string> Hosts() const;

 private:
  absl::Status Compare(const v1::RunMachine& machine) const;
  void Complete();

  const int machines_;
  bool complete_ = false;
  Id next_id_ = 0;
  std::map<Id, Member> members_;
};

// Returns, for example, "2 of 4 machines are here (h1, h2)".
std::string GatheringText(const std::vector<std::string>& hosts, int machines);

}  // namespace accel::cli
