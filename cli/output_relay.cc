#include "cli/output_relay.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/write_whole.h"
#include "logs/log_paths.h"

namespace accel::cli {
namespace {

constexpr size_t kTakeBytes = 256 << 10;

bool IsHere(const MachineRanks& ranks, int rank) {
  return rank >= ranks.first && rank - ranks.first < ranks.count;
}

}  // namespace

OutputRelay::OutputRelay(std::string job_dir, Options options)
    : job_dir_(std::move(job_dir)), options_(std::move(options)), thread_([this] { Run(); }) {}

OutputRelay::~OutputRelay() {
  if (thread_.joinable()) Drain(0);
}

void OutputRelay::Update(int ended, const std::map<int, MachineRanks>& ranks) {
  absl::MutexLock lock(&mutex_);
  ended_ = std::max(ended_, ended);
  for (const auto& [generation, of_it] : ranks) ranks_.emplace(generation, of_it);
  wake_.Wake();
}

void OutputRelay::Drain(int ended) {
  {
    absl::MutexLock lock(&mutex_);
    ended_ = std::max(ended_, ended);
    draining_ = true;
  }
  wake_.Wake();
  thread_.join();
}

void OutputRelay::Run() {
  for (int generation = 1; !IsLast(generation - 1); ++generation) RunGeneration(generation);
}

void OutputRelay::RunGeneration(int generation) {
  const std::string dir = logs::GenerationLogDir(job_dir_, generation);
  const std::string spill =
      options_.spill_dir.empty() ? "" : logs::GenerationLogDir(options_.spill_dir, generation);
  std::unique_ptr<logs::LogFollower> follower;
  std::optional<MachineRanks> here;
  LineRelay for_out = RelayTo(STDOUT_FILENO);
  LineRelay for_err = RelayTo(STDERR_FILENO);
  // If both streams go to one terminal, they share a relay, because each must know whether the
  // other has left a bar on the line.
  LineRelay* const out = &for_out;
  LineRelay* const err = isatty(STDOUT_FILENO) && isatty(STDERR_FILENO) ? &for_out : &for_err;
  while (true) {
    // Must be read before the follower: the output of a generation that had ended by then
    // is on disk.
    const bool ended = Ended(generation);
    if (!here) here = RanksOf(generation);
    if (!here && !ended) {
      Wait(nullptr);
      continue;
    }
    here_ = here.value_or(MachineRanks{});
    if (follower == nullptr) {
      if (auto opened = logs::LogFollower::Open(dir, spill); opened.ok())
        follower = *std::move(opened);
    }
    if (follower != nullptr) {
      if (const std::vector<logs::LogPiece> pieces = follower->Take(kTakeBytes); !pieces.empty()) {
        Write(generation, pieces, out, err);
        continue;
      }
    }
    if (ended) break;
    Wait(follower.get());
  }
  WriteAll(STDOUT_FILENO, for_out.Flush());
  WriteAll(STDERR_FILENO, for_err.Flush());
  if (options_.copies) LinkErrorFiles(generation);
}

void OutputRelay::LinkErrorFiles(int generation) {
  const std::string dir = logs::GenerationLogDir(job_dir_, generation);
  for (const int rank : logs::ListRanks(dir)) {
    if (!IsHere(here_, rank)) continue;
    copies_.LinkErrorFile(AttemptDir(generation), rank - here_.first,
                          logs::WorkerErrorFile(dir, rank));
  }
}

// As torchrun does, each machine has a folder of its own, because their local ranks are the same.
std::string OutputRelay::AttemptDir(int generation) const {
  const std::string machine =
      here_.machines > 1 ? absl::StrCat("_machine_", here_.machine) : std::string();
  return absl::StrCat(job_dir_, machine, "/attempt_", generation - 1);
}

std::optional<MachineRanks> OutputRelay::RanksOf(int generation) {
  absl::MutexLock lock(&mutex_);
  const auto found = ranks_.find(generation);
  if (found == ranks_.end()) return std::nullopt;
  return found->second;
}

LineRelay OutputRelay::RelayTo(int fd) {
  const auto mark = [this](int rank, int stream) -> std::optional<std::string> {
    const int local_rank = rank - here_.first;
    if (!options_.tee.Has(local_rank, stream == STDOUT_FILENO)) return std::nullopt;
    return absl::StrCat("[", options_.role, local_rank, "]:");
  };
  return LineRelay({.prefix = options_.prefix, .terminal = isatty(fd) == 1, .mark = mark});
}

void OutputRelay::Write(int generation, const std::vector<logs::LogPiece>& pieces, LineRelay* out,
                        LineRelay* err) {
  for (const logs::LogPiece& piece : pieces) {
    const bool is_out = piece.stream == logs::LogStream::kStdout;
    if (!IsHere(here_, piece.rank)) continue;
    const int local_rank = piece.rank - here_.first;
    if (options_.copies && options_.tee.Has(local_rank, is_out)) {
      copies_.Add(AttemptDir(generation), local_rank, is_out, piece.gap, piece.bytes);
    }
    const int fd = is_out ? STDOUT_FILENO : STDERR_FILENO;
    WriteAll(fd, (is_out ? out : err)->Add(piece.rank, fd, piece.gap, piece.bytes));
  }
}

// Output that cannot be written is lost and counted. The next bytes are tried again, because the
// disk may have room by then. The job's log files are not affected.
void OutputRelay::WriteAll(int fd, absl::string_view bytes) {
  const int error = WriteWhole(fd, &bytes);
  if (error == 0) return;
  absl::MutexLock lock(&mutex_);
  OutputLoss& loss = fd == STDOUT_FILENO ? out_loss_ : err_loss_;
  if (loss.error == 0) loss.error = error;
  loss.bytes += static_cast<int64_t>(bytes.size());
  loss_.Wake();
}

OutputLoss OutputRelay::loss(int fd) {
  absl::MutexLock lock(&mutex_);
  return fd == STDOUT_FILENO ? out_loss_ : err_loss_;
}

void OutputRelay::Wait(const logs::LogFollower* follower) {
  pollfd fds[] = {{wake_.get(), POLLIN, 0}, {follower == nullptr ? -1 : follower->fd(), POLLIN, 0}};
  poll(fds, 2, -1);
  if (fds[0].revents != 0) wake_.Clear();
}

bool OutputRelay::Ended(int generation) {
  absl::MutexLock lock(&mutex_);
  return generation <= ended_ || draining_;
}

bool OutputRelay::IsLast(int generation) {
  absl::MutexLock lock(&mutex_);
  return draining_ && generation >= ended_;
}

}  // namespace accel::cli
