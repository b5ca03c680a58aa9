// Finds the size on disk of each job's output.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/core/output_budget.h"
#include "common/ids.h"

namespace accel::agent {

// The name of a job's upload in the job's folder, and its name while it is being deleted.
inline constexpr char kUploadName[] = "code";
inline constexpr char kOldUploadName[] = "code.old";

// Not thread-safe.
class OutputScan {
 public:
  explicit OutputScan(std::string jobs_dir) : jobs_dir_(std::move(jobs_dir)) {}

  // Returns the sizes of all output. Reads the files of the newest generation of each `live` job in
  // each scan. Reads the files of each other generation only once, because they no longer change.
  std::vector<GenerationOutput> Scan(const std::set<common::JobId>& live);

 private:
  // Adds the upload of a job that is not live, as generation 0. It is therefore deleted before
  // the job's output.
  void AddUpload(const std::string& folder, const char* name, const common::JobId& job,
                 std::map<std::string, int64_t>* known, std::vector<GenerationOutput>* outputs);

  const std::string jobs_dir_;
  std::map<std::string, int64_t> known_;  // The sizes of generations that do not change, by folder.
};

}  // namespace accel::agent
