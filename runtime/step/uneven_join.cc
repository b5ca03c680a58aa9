#include "runtime/step/uneven_join.h"

#include <torch/optim/optimizer.h>
#include <torch/serialize/archive.h>

#include <bit>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/core/accumulation.h"
#include "runtime/optim/checkpointed_scheduler.h"
#include "runtime/parallel/uneven_inputs.h"
#include "runtime/precision/grad_scaler.h"
#include "runtime/process/process_state.h"

namespace accel {
namespace {

// Puts the whole process inside join_uneven_inputs() while it lives.
class JoinScope {
 public:
  JoinScope(ProcessState& process, std::shared_ptr<UnevenInputs> inputs, const JoinOptions& options)
      : process_(process), even_batches_(process.loaders->even_batches) {
    process_.uneven_inputs = std::move(inputs);
    if (options.even_batches) process_.loaders->even_batches = options.even_batches;
  }
  ~JoinScope() {
    process_.uneven_inputs = nullptr;
    process_.loaders->even_batches = even_batches_;
  }
  JoinScope(const JoinScope&) = delete;
  JoinScope& operator=(const JoinScope&) = delete;

 private:
  ProcessState& process_;
  const std::optional<bool> even_batches_;
};

std::string bytes_of(const torch::optim::Optimizer& optimizer) {
  torch::serialize::OutputArchive archive;
  optimizer.save(archive);
  std::ostringstream out;
  archive.save_to(out);
  return out.str();
}

std::string text_of(const TrainingProgress& progress) {
  const AccumulationState window = progress.window.state();
  const LossScaleState scale =
      progress.scaler != nullptr ? progress.scaler->state() : LossScaleState();
  std::ostringstream numbers;
  numbers << window.step << ' ' << window.window << ' ' << std::bit_cast<std::uint32_t>(scale.scale)
          << ' ' << scale.growth_tracker;
  for (const auto& scheduler : progress.schedulers) {
    const SchedulerState state = scheduler->state();
    numbers << ' ' << state.last_epoch << ' ' << state.step_count;
    if (state.libtorch_step_count) numbers << ' ' << *state.libtorch_step_count;
  }
  return numbers.str();
}

void adopt(const std::string& text, const TrainingProgress& progress) {
  std::istringstream in(text);
  AccumulationState window;
  LossScaleState scale;
  std::uint32_t scale_bits = 0;
  in >> window.step >> window.window >> scale_bits >> scale.growth_tracker;
  scale.scale = std::bit_cast<float>(scale_bits);
  progress.window.set_state(window);
  if (progress.scaler != nullptr) progress.scaler->set_state(scale);
  for (const auto& scheduler : progress.schedulers) {
    SchedulerState state = scheduler->state();
    in >> state.last_epoch >> state.step_count;
    if (state.libtorch_step_count) in >> *state.libtorch_step_count;
    scheduler->set_state(state);
  }
}

}  // namespace

std::optional<int> run_uneven(ProcessState& process, const std::function<void()>& body,
                              const JoinOptions& options) {
  if (process.uneven_inputs != nullptr) {
    throw std::logic_error("join_uneven_inputs inside of itself");
  }
  const auto inputs = std::make_shared<UnevenInputs>(process.models.all(), process.communicator);
  const JoinScope scope(process, inputs, options);
  try {
    body();
  } catch (const std::exception& error) {
    process.communicator->note_failure("join_uneven_inputs, which threw '" +
                                       std::string(error.what()) + "',");
    throw;
  }
  // The passes of the other ranks add nothing to this rank's gradients, so they count as reduced.
  const BackwardPassScope shadows(process.gradients, GradientOrigin::kReduced);
  return inputs->finish();
}

void copy_progress(ProcessState& process, const TrainingProgress& progress, int from) {
  const bool is_source = process.environment.rank == from;
  const auto shared = [&](const std::string& bytes) {
    return process.communicator->broadcast_bytes(bytes, from);
  };
  for (const auto& optimizer : progress.optimizers) {
    const std::string bytes = shared(is_source ? bytes_of(*optimizer) : "");
    if (is_source) continue;
    std::istringstream in(bytes);
    torch::serialize::InputArchive archive;
    archive.load_from(in, process.device);
    optimizer->load(archive);
  }
  const std::string numbers = shared(text_of(progress));
  if (!is_source) adopt(numbers, progress);
}

}  // namespace accel
