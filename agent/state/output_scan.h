// Finds out how much disk the output of each job takes.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/core/output_budget.h"
#include "common/ids.h"

namespace accel::agent {

// The folder with a job's upload, below the job's, and its name while it is being deleted.
inline constexpr char kUploadName[] = "code";
inline constexpr char kOldUploadName[] = "code.old";

// Not thread-safe.
class OutputScan {
 public:
  explicit OutputScan(std::string jobs_dir) : jobs_dir_(std::move(jobs_dir)) {}

  // Looks at every file of `live` jobs' newest generations, and once at those of all others, which
  // do not change any more. So a repeated scan costs little.
  std::vector<GenerationOutput> Scan(const std::set<common::JobId>& live);

 private:
  // Adds the upload of a job that is over. It goes with the job's output, and before it.
  void AddUpload(const std::string& folder, const char* name, const common::JobId& job,
                 std::map<std::string, int64_t>* known, std::vector<GenerationOutput>* outputs);

  const std::string jobs_dir_;
  std::map<std::string, int64_t> known_;  // The sizes of generations that do not change, by folder.
};

}  // namespace accel::agent
