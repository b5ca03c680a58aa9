#include "accel/profile.h"

#include <ATen/DeviceAccelerator.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <set>
#include <stdexcept>
#include <utility>

#include "runtime/core/profile_schedule.h"

namespace accel {
namespace {

namespace fs = std::filesystem;
namespace profiler = torch::autograd::profiler;
using torch::profiler::impl::ActivityType;

// True while a Profile exists. LibTorch records one trace at a time, and a second profiler would
// corrupt the trace of the first.
std::atomic<bool> one_lives = false;

}  // namespace

struct Profile::State {
  enum class Tracing { kOff, kPrepared, kOn };

  State(ProfileOptions asked, int process_index, bool gpu)
      : options(std::move(asked)),
        config(torch::profiler::impl::ProfilerState::KINETO, options.record_shapes,
               options.profile_memory, /*with_stack=*/false, options.with_flops),
        rank(process_index) {
    if (gpu) activities.insert(ActivityType::CUDA);
    if (one_lives.exchange(true)) {
      throw std::logic_error("another profile is running: a process can have one at a time");
    }
  }
  ~State() { one_lives = false; }

  runtime::ProfileAction action() const {
    return options.schedule ? runtime::action_at(*options.schedule, step)
                            : runtime::ProfileAction::kRecord;
  }
  void begin_step();
  void end_step();
  void prepare();
  void record();
  void save();
  fs::path next_path();

  const ProfileOptions options;
  const torch::profiler::impl::ProfilerConfig config;
  const int rank;
  std::set<ActivityType> activities{ActivityType::CPU};
  std::int64_t step = 0;
  std::int64_t cycle = 0;
  Tracing tracing = Tracing::kOff;
  std::optional<at::RecordFunction> mark;  // The current step, as an event.
};

void Profile::State::prepare() {
  if (tracing != Tracing::kOff) return;
  profiler::prepareProfiler(config, activities);
  tracing = Tracing::kPrepared;
}

void Profile::State::record() {
  prepare();
  if (tracing == Tracing::kOn) return;
  profiler::enableProfiler(config, activities);
  tracing = Tracing::kOn;
}

void Profile::State::begin_step() {
  switch (action()) {
    case runtime::ProfileAction::kNone:
      return;
    case runtime::ProfileAction::kWarmup:
      return prepare();
    case runtime::ProfileAction::kRecord:
    case runtime::ProfileAction::kRecordAndSave:
      record();
  }
  if (!options.schedule) return;
  mark.emplace(at::RecordScope::USER_SCOPE);
  if (mark->isActive()) mark->before("ProfilerStep#" + std::to_string(step));
}

void Profile::State::end_step() {
  mark.reset();
  if (action() == runtime::ProfileAction::kRecordAndSave) save();
  ++step;
}

fs::path Profile::State::next_path() {
  const std::string suffix = cycle == 0 ? "" : "_" + std::to_string(cycle);
  ++cycle;
  return fs::path(options.output_trace_dir) /
         ("profile_" + std::to_string(rank) + suffix + ".json");
}

// Writes to a partial file first, so that a file with the trace's name is always complete.
void Profile::State::save() {
  mark.reset();
  // Waits for the GPU, because kernels that are still queued would otherwise be missing
  // from the trace.
  if (activities.contains(ActivityType::CUDA)) {
    at::accelerator::synchronizeDevice(at::accelerator::getDeviceIndex());
  }
  const auto result = profiler::disableProfiler();
  tracing = Tracing::kOff;
  const fs::path path = next_path(), partial = path.string() + ".partial";
  try {
    fs::create_directories(options.output_trace_dir);
    result->save(partial);
    fs::rename(partial, path);
  } catch (const std::exception& error) {
    std::cerr << "accel: the trace is lost: " << error.what() << std::endl;
    return;
  }
  if (options.on_trace_ready) options.on_trace_ready(path);
}

Profile::Profile(ProfileOptions options, int rank, bool gpu) {
  if (options.schedule) runtime::check_schedule(*options.schedule);
  state_ = std::make_unique<State>(std::move(options), rank, gpu);
  state_->begin_step();
}

Profile::Profile(Profile&&) noexcept = default;

Profile::~Profile() {
  if (state_ == nullptr || state_->tracing == State::Tracing::kOff) return;
  try {
    // LibTorch can leave the prepared state only through the recording state.
    const bool has_trace = state_->tracing == State::Tracing::kOn;
    state_->record();
    if (has_trace) {
      state_->save();
    } else {
      profiler::disableProfiler();
    }
  } catch (const std::exception& error) {
    std::cerr << "accel: the profiler could not be stopped: " << error.what() << std::endl;
  }
}

void Profile::step() {
  state_->end_step();
  state_->begin_step();
}

}  // namespace accel
