#include "cli/machines/run_hub.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/render/escape.h"
#include "common/job_phase.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

constexpr int kMaxInterrupts = 16;  // Between two looks. Further ones change nothing.
constexpr Gathering::Id kOwn = 0;   // The machine that serves joins first.

}  // namespace

RunHub::RunHub(std::string run_id, int machines)
    : run_id_(std::move(run_id)), gathering_(machines) {}

absl::StatusOr<std::unique_ptr<RunHub>> RunHub::Make(std::string run_id, int machines,
                                                     const v1::RunMachine& own) {
  auto hub = std::unique_ptr<RunHub>(new RunHub(std::move(run_id), machines));
  absl::MutexLock lock(&hub->mutex_);
  ACCEL_RETURN_IF_ERROR(hub->gathering_.Join(own).status());
  return hub;
}

absl::StatusOr<RunHub::Id> RunHub::Join(const v1::RunMachine& machine) {
  Id id = kOwn;
  {
    absl::MutexLock lock(&mutex_);
    if (!ended_by_.empty()) {
      return absl::AbortedError(absl::StrCat("the run has ended: ", ended_by_));
    }
    ACCEL_ASSIGN_OR_RETURN(id, gathering_.Join(machine));
  }
  TickAll();
  return id;
}

void RunHub::Subscribe(Id id, std::shared_ptr<Ticks> ticks) {
  {
    absl::MutexLock lock(&mutex_);
    ticks_[id] = ticks;
  }
  ticks->Put({});
}

void RunHub::Leave(Id id) {
  {
    absl::MutexLock lock(&mutex_);
    ticks_.erase(id);
    const auto member = gathering_.members().find(id);
    if (member == gathering_.members().end()) return;
    const bool over = !ended_by_.empty() || (job_.has_value() && common::IsFinal(job_->phase()));
    if (gathering_.complete() && !over && gone_.empty()) {
      gone_ = absl::StrCat("machine ", EscapeControls(member->second.node_name), " (",
                           member->second.machine.address(), ") is gone: its connection has ended");
    }
    // Its place in a complete gathering remains, because the order of the others depends on it.
    if (!gathering_.complete()) gathering_.Leave(id);
  }
  TickAll();
}

void RunHub::Signal(Id id, int signal, bool at_once) {
  absl::MutexLock lock(&mutex_);
  const auto member = gathering_.members().find(id);
  if (member == gathering_.members().end() || interrupts_.size() >= kMaxInterrupts) return;
  interrupts_.push_back({member->second.node_name, signal, at_once});
  wake_.Wake();
}

bool RunHub::complete() {
  absl::MutexLock lock(&mutex_);
  return gathering_.complete();
}

std::string RunHub::Progress() {
  absl::MutexLock lock(&mutex_);
  return GatheringText(gathering_.Hosts(), gathering_.machines());
}

Gathering::Member RunHub::own() {
  absl::MutexLock lock(&mutex_);
  return gathering_.members().at(kOwn);
}

std::vector<int> RunHub::Processes() {
  absl::MutexLock lock(&mutex_);
  std::vector<int> processes(static_cast<size_t>(gathering_.machines()), 1);
  for (const auto& [id, member] : gathering_.members()) {
    processes.at(static_cast<size_t>(member.placement_order - 1)) = member.machine.processes();
  }
  return processes;
}

std::string RunHub::gone() {
  absl::MutexLock lock(&mutex_);
  return gone_;
}

std::vector<RunHub::Interrupt> RunHub::TakeInterrupts() {
  absl::MutexLock lock(&mutex_);
  return std::exchange(interrupts_, {});
}

int RunHub::others() {
  absl::MutexLock lock(&mutex_);
  return static_cast<int>(ticks_.size());
}

void RunHub::SetJob(const v1::Job& job) {
  {
    absl::MutexLock lock(&mutex_);
    job_ = job;
    job_->mutable_spec()->clear_env();
  }
  TickAll();
}

void RunHub::End(const std::string& why, int signal) {
  {
    absl::MutexLock lock(&mutex_);
    if (!ended_by_.empty()) return;
    ended_by_ = why;
    signal_ = signal;
  }
  TickAll();
}

void RunHub::Close(const absl::Status& why) {
  for (const auto& ticks : AllTicks()) ticks->End(why);
}

v1::RunNews RunHub::NewsFor(Id id) {
  v1::RunNews news;
  absl::MutexLock lock(&mutex_);
  news.set_run_id(run_id_);
  news.set_machines(gathering_.machines());
  if (!gathering_.complete()) {
    for (std::string& host : gathering_.Hosts()) news.add_present(std::move(host));
  }
  const auto member = gathering_.members().find(id);
  if (member != gathering_.members().end()) {
    news.set_node_name(member->second.node_name);
    news.set_placement_order(member->second.placement_order);
  }
  if (job_.has_value()) *news.mutable_job() = *job_;
  news.set_ended_by(ended_by_);
  news.set_signal(signal_);
  return news;
}

std::vector<std::shared_ptr<RunHub::Ticks>> RunHub::AllTicks() {
  absl::MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<Ticks>> all;
  for (const auto& [id, ticks] : ticks_) all.push_back(ticks);
  return all;
}

void RunHub::TickAll() {
  for (const auto& ticks : AllTicks()) ticks->Put({});
  wake_.Wake();
}

}  // namespace accel::cli
