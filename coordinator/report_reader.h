// Reads the reports of one agent's stream. An agent repeats its whole state in each report, because
// a message that is lost or replaced must not leave the coordinator with a wrong picture
// (docs/decisions/0090). Parsing all of it again would be much of what a heartbeat costs, so this
// reader compares the bytes with those of the report before and parses only what may differ.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/core/node_report.h"
#include "coordinator/wire.h"

namespace accel::coordinator {

// Not thread-safe. One object for each stream.
class ReportReader {
 public:
  // Enough for 64 generations of 1,024 workers, and for results that the agent still keeps.
  static constexpr WireBounds kBounds{16 << 20, 1'000'000};
  // A report with more bytes than this is not kept for the comparison. A node with 16 GPUs and 64
  // addresses needs 4 KiB.
  static constexpr size_t kMostKept = 16 << 10;

  // Returns the next report. No report is compared with one whose sequence number has not risen,
  // because the coordinator ignores that one. Errors are those of Parse() in coordinator/wire.h.
  absl::StatusOr<NodeReport> Read(const grpc::ByteBuffer& bytes);

 private:
  // The serialized fields of a report, in groups.
  struct Parts {
    // Returns the group of the field with this number.
    std::string* Of(int field);

    std::string description;
    std::string state;
    std::string version;   // applied_version.
    std::string changing;  // The sequence and the times.
  };

  // Returns nullopt if the bytes are too many or not a message.
  static std::optional<Parts> Split(const grpc::ByteBuffer& bytes);

  std::optional<Parts> before_;       // Without `changing`.
  std::optional<uint64_t> sequence_;  // The highest so far.
};

}  // namespace accel::coordinator
