// Reads the reports of one agent's stream. An agent repeats its whole state in each report, because
// a message that is lost or replaced must not leave the coordinator with a wrong picture
// (docs/decisions/0090). Parsing all of it again would be much of what a heartbeat costs, so this
// reader compares the bytes with those of the report before and parses only what may differ.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
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
  enum Group { kDescription, kState, kVersion, kChanging };
  // The serialized fields of a report, by group: all but kChanging, which are the sequence and the
  // times. kVersion is applied_version.
  using Groups = std::array<std::string, 3>;

  // Returns the group of the field with this number.
  static Group GroupOf(int field);
  // Calls fn with each run of fields of one group, in their order. Returns false if the bytes are
  // not a message.
  static bool ForEachRun(absl::string_view bytes,
                         absl::FunctionRef<void(Group, absl::string_view)> fn);

  // Compares a report with the one before, and copies it without its description to *rest.
  News Compare(absl::string_view bytes, std::string* rest) const;
  // Keeps the report, of which this is news, for the next comparison.
  void Keep(absl::string_view bytes, News news);

  std::optional<Groups> before_;
  std::optional<uint64_t> sequence_;  // The highest so far.
};

}  // namespace accel::coordinator
