// join_uneven_inputs().
#include <bit>
#include <sstream>
#include <stdexcept>

#include "accel/accelerator.h"
#include "runtime/parallel/uneven_inputs.h"

namespace accel {
namespace {

// What holds inside of join_uneven_inputs() for the whole process.
class JoinScope {
 public:
  JoinScope(ProcessState& state, std::shared_ptr<UnevenInputs> inputs, const JoinOptions& options)
      : state_(state), even_batches_(state.loaders->even_batches) {
    state_.uneven_inputs = std::move(inputs);
    if (options.even_batches) state_.loaders->even_batches = options.even_batches;
  }
  ~JoinScope() {
    state_.uneven_inputs = nullptr;
    state_.loaders->even_batches = even_batches_;
  }
  JoinScope(const JoinScope&) = delete;
  JoinScope& operator=(const JoinScope&) = delete;

 private:
  ProcessState& state_;
  const std::optional<bool> even_batches_;
};

std::string bytes_of(const torch::optim::Optimizer& optimizer) {
  torch::serialize::OutputArchive archive;
  optimizer.save(archive);
  std::ostringstream out;
  archive.save_to(out);
  return out.str();
}

}  // namespace

void Accelerator::join_uneven_inputs(const std::function<void()>& body,
                                     const JoinOptions& options) {
  if (!use_distributed()) return body();
  if (options_.data_parallel.static_graph) {
    throw std::invalid_argument(
        "join_uneven_inputs: a process that has ended does not use its parameters as often as a "
        "static_graph says");
  }
  if (state_->uneven_inputs != nullptr) {
    throw std::logic_error("join_uneven_inputs inside of itself");
  }
  const auto inputs = std::make_shared<UnevenInputs>(state_->models.all(), state_->communicator);
  std::optional<int> last;
  {
    const JoinScope scope(*state_, inputs, options);
    try {
      body();
    } catch (const std::exception& error) {
      state_->communicator->note_failure("join_uneven_inputs, which threw '" +
                                         std::string(error.what()) + "',");
      throw;
    }
    // The others' passes, with gradients of zero.
    const BackwardPassScope shadows(state_->gradients, GradientOrigin::kReduced);
    last = inputs->finish();
  }
  if (last) copy_progress_from(*last);
}

void Accelerator::copy_progress_from(int rank) {
  const bool mine = process_index() == rank;
  const auto shared = [&](const std::string& bytes) {
    return state_->communicator->broadcast_bytes(bytes, rank);
  };
  for (const auto& optimizer : checkpointer_->optimizers()) {
    const std::string bytes = shared(mine ? bytes_of(*optimizer) : "");
    if (mine) continue;
    std::istringstream in(bytes);
    torch::serialize::InputArchive archive;
    archive.load_from(in, device());
    optimizer->load(archive);
  }
  const LossScaleState loss_scale = scaler_ != nullptr ? scaler_->state() : LossScaleState();
  std::ostringstream numbers;
  numbers << accumulation_->state().step << ' ' << accumulation_->state().window << ' '
          << std::bit_cast<std::uint32_t>(loss_scale.scale) << ' ' << loss_scale.growth_tracker;
  for (const auto& scheduler : checkpointer_->schedulers()) {
    const SchedulerState state = scheduler->state();
    numbers << ' ' << state.last_epoch << ' ' << state.step_count;
    if (state.libtorch_step_count) numbers << ' ' << *state.libtorch_step_count;
  }
  std::istringstream in(shared(numbers.str()));
  if (mine) return;
  AccumulationState accumulation;
  std::uint32_t scale = 0;
  LossScaleState theirs;
  in >> accumulation.step >> accumulation.window >> scale >> theirs.growth_tracker;
  theirs.scale = std::bit_cast<float>(scale);
  accumulation_->set_state(accumulation);
  if (scaler_ != nullptr) scaler_->set_state(theirs);
  for (const auto& scheduler : checkpointer_->schedulers()) {
    SchedulerState state = scheduler->state();
    in >> state.last_epoch >> state.step_count;
    if (state.libtorch_step_count) in >> *state.libtorch_step_count;
    scheduler->set_state(state);
  }
}

}  // namespace accel
