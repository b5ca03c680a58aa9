// The folder of one job's shim on a simulated node. It has the files of shim/host/shim_folder.h,
// with the same content, so that what an agent finds after a crash is what was really written.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/ids.h"
#include "shim/host/shim_record.h"
#include "tests/simulation/node_disk.h"

namespace accel::simulation {

// Not thread-safe.
class SimulatedShimFolder {
 public:
  // The disk must outlive this object.
  SimulatedShimFolder(NodeDisk* disk, const common::JobId& job);

  // Returns the jobs that have a folder.
  static std::vector<common::JobId> List(const NodeDisk& disk);

  absl::Status WriteRecord(const shim::ShimRecord& record);
  // Returns the newest record. If it cannot be read, returns one of no boot.
  shim::ShimRecord ReadRecord() const;
  // Notes that the shim has received the start of this generation.
  absl::Status WriteStarted(common::Generation generation);
  common::Generation ReadStarted() const;
  // Stores the last report of the shim, if the disk takes it.
  void WriteResult(const shim::GenerationReport& report);
  std::optional<shim::GenerationReport> ReadResult() const;
  void Remove() { disk_->Remove(path_); }

 private:
  NodeDisk* const disk_;
  const std::string path_;
};

}  // namespace accel::simulation
