#include "agent/state/output_scan.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/state/job_folder.h"
#include "logs/log_paths.h"
#include "process/user_rights.h"

namespace accel::agent {
namespace {

namespace fs = std::filesystem;

// Returns the number of bytes that a file counts: its size, or the space that it takes on the disk
// if that is less, or much more. A file with holes takes less. If its size counted, a user could
// cause the deletion of other users' output with such a file. If a file has several names, each
// name counts for an equal share, because only deleting the last name frees the space.
int64_t DiskBytes(const std::string& path) {
  constexpr int64_t kBlock = 4096;
  struct stat info = {};
  if (lstat(path.c_str(), &info) != 0) return 0;
  const int64_t size = info.st_size, taken = int64_t{info.st_blocks} * 512;
  // A file that takes much more than its size has reserved blocks, which count too.
  const int64_t bytes = taken > size + kBlock ? taken : std::min(size, taken);
  return bytes / std::max<int64_t>(static_cast<int64_t>(info.st_nlink), 1);
}

// Returns the size of all files in the folder, including files that are not segments.
int64_t SizeOfTree(const std::string& folder) {
  int64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_regular_file(error)) bytes += DiskBytes(entry->path().string());
  }
  return bytes;
}

std::vector<StreamFiles> StreamsOf(const std::string& folder) {
  std::vector<StreamFiles> streams;
  for (const int rank : logs::ListRanks(folder)) {
    const std::string rank_dir = logs::RankLogDir(folder, rank);
    for (const logs::LogStream stream : {logs::LogStream::kStdout, logs::LogStream::kStderr}) {
      StreamFiles files;
      for (const int64_t offset : logs::ListSegments(rank_dir, stream)) {
        const std::string path = absl::StrCat(rank_dir, "/", logs::SegmentName(stream, offset));
        files.push_back({path, DiskBytes(path)});
      }
      if (!files.empty()) streams.push_back(std::move(files));
    }
  }
  return streams;
}

}  // namespace

std::vector<GenerationOutput> OutputScan::Scan(const std::set<common::JobId>& live) {
  std::vector<GenerationOutput> outputs;
  std::map<std::string, int64_t> known;
  std::error_code error;
  for (fs::directory_iterator entry(jobs_dir_, error), end; !error && entry != end;
       entry.increment(error)) {
    const common::JobId job(entry->path().filename().string());
    const auto owner = OwnerOfJobFolder(jobs_dir_, job);
    if (!owner) continue;
    const process::UserRights rights(*owner);
    OpenToOwner(entry->path().string());
    if (!live.contains(job)) {
      for (const char* const name : {kUploadName, kOldUploadName}) {
        AddUpload(entry->path().string(), name, job, &known, &outputs);
      }
    }
    const std::vector<int> generations = logs::ListGenerations(entry->path().string());
    for (const int generation : generations) {
      GenerationOutput output;
      output.job = job;
      output.generation = generation;
      output.folder = logs::GenerationLogDir(entry->path().string(), generation);
      output.live = generation == generations.back() && live.contains(job);
      if (output.live) {
        output.streams = StreamsOf(output.folder);
        for (const StreamFiles& files : output.streams) {
          for (const SegmentFile& file : files) output.bytes += file.bytes;
        }
      } else {
        const auto found = known_.find(output.folder);
        output.bytes = found == known_.end() ? SizeOfTree(output.folder) : found->second;
        known[output.folder] = output.bytes;
      }
      outputs.push_back(std::move(output));
    }
  }
  known_ = std::move(known);
  return outputs;
}

void OutputScan::AddUpload(const std::string& folder, const char* name, const common::JobId& job,
                           std::map<std::string, int64_t>* known,
                           std::vector<GenerationOutput>* outputs) {
  GenerationOutput upload;
  upload.job = job;
  upload.folder = folder + "/" + name;
  std::error_code error;
  // A link does not count, because its target is outside the job's folder and is not
  // deleted with it.
  if (!fs::is_directory(fs::symlink_status(upload.folder, error))) return;
  const auto found = known_.find(upload.folder);
  upload.bytes = found == known_.end() ? SizeOfTree(upload.folder) : found->second;
  (*known)[upload.folder] = upload.bytes;
  outputs->push_back(std::move(upload));
}

}  // namespace accel::agent
