#include "coordinator/log_hub.h"

#include <sys/random.h>

#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace accel::coordinator {
namespace {

const v1::GenerationRecord* FindGeneration(const v1::Job& job, int generation) {
  if (generation == 0) return CurrentGeneration(job);
  for (const v1::GenerationRecord& record : job.generations()) {
    if (record.generation() == generation) return &record;
  }
  return nullptr;
}

// Returns a random id. Only the node that must relay receives it, and no other process can guess
// it, so whatever is relayed under it comes from that node.
std::string NewReaderId() {
  char bytes[16];
  ACCEL_CHECK(getrandom(bytes, sizeof(bytes), 0) == sizeof(bytes),
              "a kernel that has started gives a few random bytes at once");
  return absl::BytesToHexString(absl::string_view(bytes, sizeof(bytes)));
}

absl::Status CheckConnected(const v1::Placement& placement, const ClusterState& state,
                            absl::Time now) {
  const auto node = state.nodes.find(common::NodeId(placement.node_id()));
  if (node != state.nodes.end() && IsConnected(state, node->second, now)) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("the output is on node ", placement.node_name(), ", which is not connected"));
}

}  // namespace

absl::StatusOr<std::vector<common::NodeId>> LogHub::Begin(LogReadId read,
                                                          const v1::ReadLogsRequest& request,
                                                          const v1::Job& job,
                                                          const ClusterState& state, absl::Time now,
                                                          std::shared_ptr<LogPipe> pipe) {
  const v1::GenerationRecord* generation = FindGeneration(job, request.generation());
  if (generation == nullptr) {
    return absl::NotFoundError(
        request.generation() == 0
            ? absl::StrCat("job ", job.job_id(), " has not been started yet: ", job.reason())
            : absl::StrCat("job ", job.job_id(), " has no generation ", request.generation()));
  }
  std::vector<Reader> readers;
  for (const v1::Placement& placement : generation->placements()) {
    for (int rank = placement.first_rank(); rank < placement.first_rank() + placement.processes();
         ++rank) {
      if (request.rank() >= 0 && rank != request.rank()) continue;
      if (absl::Status status = CheckConnected(placement, state, now); !status.ok()) return status;
      Reader reader{read, common::NodeId(placement.node_id()), {}, pipe};
      reader.wish.set_reader_id(NewReaderId());
      reader.wish.set_job_id(job.job_id());
      reader.wish.set_generation(generation->generation());
      reader.wish.set_rank(rank);
      reader.wish.set_follow(request.follow());
      reader.wish.set_log_dir(job.spec().log_dir());
      readers.push_back(std::move(reader));
    }
  }
  if (readers.empty()) {
    return absl::NotFoundError(absl::StrCat("generation ", generation->generation(), " of job ",
                                            job.job_id(), " has no rank ", request.rank()));
  }
  if (readers.size() > kMaxReaders) {
    return absl::InvalidArgumentError(
        absl::StrCat("generation ", generation->generation(), " of job ", job.job_id(), " has ",
                     readers.size(), " ranks, and the output of at most ", kMaxReaders,
                     " can be read at the same time; choose one with --rank"));
  }
  absl::MutexLock lock(&mutex_);
  if (readers_.size() + readers.size() > kMaxReaders) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the output of ", readers_.size(), " ranks is already being read, and the maximum is ",
        kMaxReaders, "; try again later"));
  }
  std::vector<v1::LogReader> relays;
  std::set<common::NodeId> nodes;
  for (Reader& reader : readers) {
    relays.push_back(reader.wish);
    nodes.insert(reader.node);
    readers_.emplace(reader.wish.reader_id(), std::move(reader));
  }
  pipe->Expect(relays);
  return std::vector<common::NodeId>(nodes.begin(), nodes.end());
}

std::vector<common::NodeId> LogHub::End(LogReadId read) {
  std::set<common::NodeId> nodes;
  absl::MutexLock lock(&mutex_);
  for (auto reader = readers_.begin(); reader != readers_.end();) {
    if (reader->second.read == read) {
      nodes.insert(reader->second.node);
      reader = readers_.erase(reader);
    } else {
      ++reader;
    }
  }
  return std::vector<common::NodeId>(nodes.begin(), nodes.end());
}

void LogHub::LoseNode(const common::NodeId& node, const std::string& name) {
  std::vector<Reader> lost;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [id, reader] : readers_) {
      if (reader.node == node) lost.push_back(reader);
    }
  }
  for (const Reader& reader : lost) {
    reader.pipe->Close(reader.wish.reader_id(),
                       absl::StrCat("node ", name, " is no longer connected"));
  }
}

std::vector<v1::LogReader> LogHub::ReadersOn(const common::NodeId& node) const {
  std::vector<v1::LogReader> wishes;
  absl::MutexLock lock(&mutex_);
  for (const auto& [id, reader] : readers_) {
    if (reader.node == node) wishes.push_back(reader.wish);
  }
  return wishes;
}

std::shared_ptr<LogPipe> LogHub::FindPipe(const std::string& reader_id) const {
  absl::MutexLock lock(&mutex_);
  const auto found = readers_.find(reader_id);
  return found == readers_.end() ? nullptr : found->second.pipe;
}

void LogHub::Close() {
  std::map<std::string, Reader> readers;
  {
    absl::MutexLock lock(&mutex_);
    readers.swap(readers_);
  }
  for (auto& [id, reader] : readers) {
    reader.pipe->Fail(absl::UnavailableError("the coordinator is shutting down"));
  }
}

}  // namespace accel::coordinator
