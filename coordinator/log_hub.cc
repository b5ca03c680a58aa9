#include "coordinator/log_hub.h"

#include <sys/random.h>

#include <iterator>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "coordinator/log_request.h"

namespace accel::coordinator {
namespace {

constexpr absl::Duration kCheckPause = absl::Milliseconds(50);

const v1::GenerationRecord* FindGeneration(const v1::Job& job, int generation) {
  if (generation == 0) return CurrentGeneration(job);
  for (const v1::GenerationRecord& record : job.generations()) {
    if (record.generation() == generation) return &record;
  }
  return nullptr;
}

// Returns a random id of a relay. Only the node that must relay receives the id, and no other
// process can guess it. All output that is relayed under the id therefore comes from that node.
std::string NewReaderId() {
  char bytes[16];
  ACCEL_CHECK(getrandom(bytes, sizeof(bytes), 0) == sizeof(bytes),
              "a kernel that has started gives a few random bytes at once");
  return absl::BytesToHexString(absl::string_view(bytes, sizeof(bytes)));
}

bool IsAway(const ClusterState& state, const common::NodeId& id) {
  const auto node = state.nodes.find(id);
  return node == state.nodes.end() || node->second.session == 0;
}

bool SameOffsets(const v1::LogReader& a, const v1::LogReader& b) {
  return a.stdout_offset() == b.stdout_offset() && a.stderr_offset() == b.stderr_offset();
}

}  // namespace

absl::StatusOr<std::vector<common::NodeId>> LogHub::Begin(LogReadId read,
                                                          const v1::ReadLogsRequest& request,
                                                          const v1::Job& job,
                                                          const ClusterState& state,
                                                          std::shared_ptr<LogPipe> pipe) {
  const v1::GenerationRecord* generation = FindGeneration(job, request.generation());
  if (generation == nullptr) {
    return absl::NotFoundError(
        request.generation() == 0
            ? absl::StrCat("job ", job.job_id(), " has not been started yet: ", job.reason())
            : absl::StrCat("job ", job.job_id(), " has no generation ", request.generation()));
  }
  const absl::StatusOr<std::vector<WantedRank>> wanted = WantedRanks(request, job, *generation);
  if (!wanted.ok()) return wanted.status();
  if (wanted->size() > kMaxReaders) {
    return absl::InvalidArgumentError(
        absl::StrCat(wanted->size(), " ranks of generation ", generation->generation(), " of job ",
                     job.job_id(), " are asked for, and the output of at most ", kMaxReaders,
                     " can be read at the same time; choose some with --rank"));
  }
  if (readers_.size() + wanted->size() > kMaxReaders) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the output of ", readers_.size(), " ranks is already being read, and the maximum is ",
        kMaxReaders, "; try again later"));
  }
  std::vector<v1::LogReader> relays;
  std::set<common::NodeId> nodes;
  for (const WantedRank& rank : *wanted) {
    Reader reader{read, common::NodeId(rank.placement->node_id()), rank.placement->node_name(),
                  rank.reader, pipe};
    reader.wish.set_reader_id(NewReaderId());
    relays.push_back(reader.wish);
    nodes.insert(reader.node);
    if (IsAway(state, reader.node)) away_.insert(reader.node);
    Add(std::move(reader));
  }
  pipe->Expect(relays);
  return std::vector<common::NodeId>(nodes.begin(), nodes.end());
}

void LogHub::Add(Reader reader) {
  const std::string id = reader.wish.reader_id();
  absl::MutexLock lock(&mutex_);
  relays_[id] = {reader.node, reader.pipe};
  readers_.emplace(id, std::move(reader));
}

LogHub::Readers::iterator LogHub::Erase(Readers::iterator reader) {
  absl::MutexLock lock(&mutex_);
  relays_.erase(reader->first);
  return readers_.erase(reader);
}

std::vector<common::NodeId> LogHub::End(LogReadId read) {
  std::set<common::NodeId> nodes;
  for (auto reader = readers_.begin(); reader != readers_.end();) {
    if (reader->second.read == read) {
      nodes.insert(reader->second.node);
      reader = Erase(reader);
    } else {
      ++reader;
    }
  }
  return std::vector<common::NodeId>(nodes.begin(), nodes.end());
}

// Removes the reader. Unless its relay has finished, sets *resumed to the reader that replaces it.
void LogHub::Resume(Readers::iterator found, std::optional<Reader>* resumed) {
  Reader reader = std::move(found->second);
  Erase(found);
  std::optional<v1::LogReader> wish = reader.pipe->Resume(reader.wish.reader_id(), NewReaderId());
  if (!wish.has_value()) return;
  reader.breaks = SameOffsets(reader.wish, *wish) ? reader.breaks + 1 : 0;
  reader.wish = *std::move(wish);
  *resumed = std::move(reader);
}

std::optional<common::NodeId> LogHub::EndRelay(const std::string& reader_id) {
  const auto found = readers_.find(reader_id);
  if (found == readers_.end()) return std::nullopt;
  const common::NodeId node = found->second.node;
  std::optional<Reader> resumed;
  Resume(found, &resumed);
  if (!resumed.has_value()) return node;
  if (resumed->breaks >= kMaxBreaks) {
    resumed->pipe->Close(resumed->wish.reader_id(), "its node stops relaying again and again");
    return node;
  }
  Add(*std::move(resumed));
  return node;
}

void LogHub::LoseNode(const common::NodeId& node) {
  std::vector<std::string> lost;
  for (const auto& [id, reader] : readers_) {
    if (reader.node == node) lost.push_back(id);
  }
  for (const std::string& id : lost) {
    std::optional<Reader> resumed;
    Resume(readers_.find(id), &resumed);
    if (!resumed.has_value()) continue;
    resumed->breaks = 0;
    Add(*std::move(resumed));
    away_.insert(node);
  }
}

// Sends the client a notice if the reader begins or ends to wait for its node.
void LogHub::Wait(Reader* reader, bool waits) {
  if (std::exchange(reader->notified, waits) == waits) return;
  reader->pipe->Notify(
      reader->wish.reader_id(),
      waits ? absl::StrCat("its node ", reader->node_name, " is not connected; waiting for it")
            : absl::StrCat("its node ", reader->node_name, " is connected again"));
}

// Ends the reader if its node is lost and it need not wait. Returns false if it has
// ended the reader.
bool LogHub::CheckReader(Reader* reader, bool away, bool lost, const ClusterState& state) {
  const v1::LogReader& wish = reader->wish;
  if (away && lost &&
      !(wish.follow() && IsLive(state, common::JobId(wish.job_id()), wish.generation()))) {
    reader->pipe->Close(wish.reader_id(),
                        absl::StrCat("its node ", reader->node_name, " is not connected"));
    return false;
  }
  Wait(reader, away && lost);
  return true;
}

void LogHub::CheckNodes(const ClusterState& state, absl::Time now) {
  if (away_.empty() || now < check_at_) return;
  check_at_ = now + kCheckPause;
  for (auto node = away_.begin(); node != away_.end();) {
    const bool away = IsAway(state, *node);
    const auto entry = state.nodes.find(*node);
    const bool lost =
        now >= (entry == state.nodes.end() ? SilentFrom(state) : SilentFrom(state, entry->second));
    bool has_readers = false;
    for (auto reader = readers_.begin(); reader != readers_.end();) {
      if (reader->second.node != *node) {
        ++reader;
      } else if (CheckReader(&reader->second, away, lost, state)) {
        has_readers = true;
        ++reader;
      } else {
        reader = Erase(reader);
      }
    }
    node = away && has_readers ? std::next(node) : away_.erase(node);
  }
}

std::vector<v1::LogReader> LogHub::ReadersOn(const common::NodeId& node) const {
  std::vector<v1::LogReader> wishes;
  for (const auto& [id, reader] : readers_) {
    if (reader.node == node) wishes.push_back(reader.wish);
  }
  return wishes;
}

std::shared_ptr<LogPipe> LogHub::FindPipe(const std::string& reader_id,
                                          const Caller& caller) const {
  absl::MutexLock lock(&mutex_);
  const auto found = relays_.find(reader_id);
  if (found == relays_.end()) return nullptr;
  const bool is_foreign =
      caller.kind == CallerKind::kNode && caller.name != found->second.node.value();
  return is_foreign ? nullptr : found->second.pipe;
}

void LogHub::Close() {
  for (auto& [id, reader] : readers_) {
    reader.pipe->Fail(absl::UnavailableError("the coordinator is shutting down"));
  }
  readers_.clear();
  absl::MutexLock lock(&mutex_);
  relays_.clear();
}

}  // namespace accel::coordinator
