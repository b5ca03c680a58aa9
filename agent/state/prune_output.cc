#include "agent/state/prune_output.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "agent/logs/log_paths.h"

namespace accel {

void PruneJobs(const std::string& jobs_dir, const std::set<JobId>& live, size_t most) {
  std::error_code error;
  std::vector<JobId> finished;
  std::filesystem::directory_iterator entry(jobs_dir, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    JobId job(entry->path().filename().string());
    if (!live.contains(job)) finished.push_back(std::move(job));
  }
  if (finished.size() <= most) return;
  // Job ids sort by the time of their submit.
  std::sort(finished.begin(), finished.end());
  finished.resize(finished.size() - most);
  for (const JobId& job : finished) {
    std::filesystem::remove_all(std::filesystem::path(jobs_dir) / job.value(), error);
  }
}

void PruneGenerations(const std::string& job_dir, Generation newest, int most) {
  std::error_code error;
  for (const Generation generation : ListGenerations(job_dir)) {
    if (generation > newest - most) continue;
    std::filesystem::remove_all(GenerationLogDir(job_dir, generation), error);
  }
}

}  // namespace accel
