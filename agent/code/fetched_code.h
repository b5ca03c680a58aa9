// CodeFolders that fetches uploads from the coordinator. Each fetch has its own thread, so that
// reads, writes and the network can simply block.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/code/blob_cache.h"
#include "agent/code/code_folders.h"
#include "agent/code/sync_code.h"
#include "common/wake_fd.h"

namespace accel::agent {

class FetchedCode final : public CodeFolders {
 public:
  // Maximum number of fetches at a time. Further jobs wait.
  static constexpr size_t kMaxFetches = 4;

  // `boot_id` is the kernel's. `cache` keeps the files that were fetched; no other process
  // may use it.
  FetchedCode(std::string jobs_dir, std::string boot_id, upload::BlobFolder cache,
              std::unique_ptr<BlobSource> source, absl::Duration sync_pause = CodeSync::kPause);
  // Cancels the fetches in progress, and waits for their threads.
  ~FetchedCode() override;

  void Update() override;
  bool IsKnown(const common::JobId& job) const override;
  absl::StatusOr<std::string> Find(const common::JobId& job) const override;
  void Set(const std::vector<CodeRequest>& requests) override;
  int wake_fd() const override { return wake_.get(); }

 private:
  class Fetch;

  // Destroys the fetches in leaving_ whose threads are done.
  void ForgetLeft();

  const std::string jobs_dir_;
  const std::string boot_id_;
  CodeSync sync_;
  BlobCache cache_;
  common::WakeFd wake_;
  std::map<common::JobId, std::unique_ptr<Fetch>> fetches_;
  std::vector<std::unique_ptr<Fetch>> leaving_;  // Cancelled, but their threads may still run.
};

}  // namespace accel::agent
