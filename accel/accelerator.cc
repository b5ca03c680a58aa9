#include "accel/accelerator.h"

#include <ATen/DeviceAccelerator.h>

#include <filesystem>
#include <sstream>
#include <utility>

#include "runtime/checkpoint/checkpointer.h"
#include "runtime/checkpoint/durable_file.h"
#include "runtime/checkpoint/load_weights.h"
#include "runtime/checkpoint/save_sharded_weights.h"
#include "runtime/checkpoint/sharded_state.h"
#include "runtime/checkpoint/shared_outcome.h"
#include "runtime/checkpoint/tensor_file.h"
#include "runtime/checkpoint/weights.h"
#include "runtime/core/mixed_precision.h"
#include "runtime/core/sharding/sharding_options.h"
#include "runtime/process/process_state.h"
#include "runtime/process/read_environment.h"
#include "runtime/step/training_step.h"
#include "runtime/tracking/tracker_set.h"

namespace accel {
namespace {

AcceleratorOptions in_force(AcceleratorOptions options, const runtime::ProcessState& process) {
  const runtime::Environment& environment = process.environment;
  options.cpu = process.cpu;
  options.mixed_precision =
      runtime::choose_precision(options.mixed_precision, environment.mixed_precision);
  options.gradient_accumulation.num_steps =
      environment.gradient_accumulation_steps.value_or(options.gradient_accumulation.num_steps);
  options.debug = options.debug || environment.debug;
  const auto launched = runtime::parse_sharding(runtime::environment_variable);
  if (launched) options.sharding = launched->options;
  if (options.sharding) runtime::check_sharding(*options.sharding);
  if (launched && environment.rank == 0) {
    for (const std::string& note : launched->notes) std::cerr << "accel: " << note << std::endl;
  }
  return options;
}

}  // namespace

// The members are in the order of their dependencies: later ones refer to earlier ones, so the
// process's state is destroyed last.
struct Accelerator::Parts {
  explicit Parts(const AcceleratorOptions& given)
      : process(runtime::ProcessState::acquire(given.cpu, given.timeout)),
        options(in_force(given, *process)),
        processes(process, options.debug),
        collectives(processes),
        trackers(options.log_with, process->environment.rank == 0),
        checkpoints(process, options.project),
        step(process, options, checkpoints.run()),
        preparation(process, processes, options, step, checkpoints.run()) {
    checkpoints.run().set_accumulation(step.window());
    checkpoints.run().set_scaler(step.scaler());
  }

  std::shared_ptr<runtime::ProcessState> process;
  AcceleratorOptions options;
  runtime::ProcessControl processes;
  runtime::Collectives collectives;
  runtime::TrackerSet trackers;
  runtime::Checkpointer checkpoints;
  runtime::TrainingStep step;
  runtime::Preparation preparation;
};

Accelerator::Accelerator(const AcceleratorOptions& options)
    : parts_(std::make_shared<Parts>(options)) {}

const runtime::ProcessControl& Accelerator::processes() const { return parts_->processes; }
const runtime::Collectives& Accelerator::collectives() const { return parts_->collectives; }
runtime::Preparation& Accelerator::preparation() const { return parts_->preparation; }

const AcceleratorOptions& Accelerator::options() const { return parts_->options; }
void Accelerator::set_even_batches(bool even) { parts_->options.even_batches = even; }
const std::string& Accelerator::project_dir() const { return options().project.project_dir; }
const std::string& Accelerator::logging_dir() const { return options().project.log_folder(); }

// ---- Processes ----

void Accelerator::set_seed(std::uint64_t seed, bool device_specific) const {
  processes().set_seed(seed, device_specific);
}

// ---- Collectives ----

std::vector<std::string> Accelerator::gather_object(const std::vector<std::string>& objects) const {
  return collectives().gather_object(objects);
}
std::string Accelerator::broadcast_object(const std::string& object, int from_process) const {
  return collectives().broadcast_object(object, from_process);
}

// ---- Preparing ----

void Accelerator::free_memory() {
  parts_->checkpoints.run().clear();
  parts_->process->models.release(&parts_->checkpoints.run());
  parts_->step.clear();
  if (device().is_cuda()) at::accelerator::emptyCache();
}

// ---- The step ----

runtime::AccumulationScope Accelerator::begin_batch(Modules modules,
                                                    runtime::Strategies strategies) {
  return parts_->step.begin_batch(std::move(modules), std::move(strategies));
}
void Accelerator::backward(const at::Tensor& loss, const BackwardOptions& options) {
  parts_->step.backward(loss, options);
}
bool Accelerator::sync_gradients() const { return parts_->step.sync_gradients(); }
void Accelerator::set_sync_gradients(bool sync) { parts_->step.set_sync_gradients(sync); }
int Accelerator::gradient_accumulation_steps() const {
  return parts_->step.window()->options().num_steps;
}
void Accelerator::set_gradient_accumulation_steps(int steps) {
  parts_->step.window()->set_num_steps(steps);
}
at::Tensor Accelerator::clip_grad_norm_(const std::vector<at::Tensor>& parameters, double max_norm,
                                        double norm_type) {
  return parts_->step.clip_grad_norm(parameters, max_norm, norm_type);
}
void Accelerator::clip_grad_value_(const std::vector<at::Tensor>& parameters, double clip_value) {
  parts_->step.clip_grad_value(parameters, clip_value);
}
runtime::AutocastScope Accelerator::autocast(const AutocastOptions& options) const {
  const ForwardPrecision& precision = preparation().precision();
  return runtime::AutocastScope(precision.device, precision.precision, options);
}
void Accelerator::unscale_gradients() { parts_->step.unscale(); }
void Accelerator::unscale(const torch::optim::Optimizer& optimizer) {
  parts_->step.unscale(optimizer);
}
bool Accelerator::optimizer_step_was_skipped() const { return parts_->step.was_skipped(); }
void Accelerator::join_uneven_inputs(const std::function<void()>& body,
                                     const JoinOptions& options) {
  parts_->step.join_uneven_inputs(body, options);
}

// ---- Saving and loading ----

Accelerator::StateDict Accelerator::state_dict_of(const torch::nn::Module& module) const {
  StateDict state("Tensor");
  const auto model = parts_->process->models.find(module);
  const auto whole = model == nullptr ? nullptr : model->begin_whole(/*is_written=*/false);
  if (whole != nullptr && !is_main_process()) return state;
  for (auto& [name, tensor] : runtime::state_of(module)) {
    state.insert(name, whole == nullptr ? tensor : tensor.to(at::kCPU, false, /*copy=*/true));
  }
  return state;
}

void Accelerator::save_bytes(const std::string& path, const SaveOptions& options,
                             const std::function<void(std::ostream&)>& write) const {
  const auto save = [&] {
    std::ostringstream out;
    write(out);
    const std::string bytes = std::move(out).str();
    runtime::replace_durably(path, {bytes});
  };
  options.save_on_each_node ? (void)on_local_main_process(save) : (void)on_main_process(save);
}

void Accelerator::save_module(const torch::nn::Module& module, const std::string& folder,
                              runtime::ByteSize max_size) const {
  const auto operation = processes().begin_operation("save_model");
  if (const auto sharded = runtime::find_sharded(*parts_->process, module)) {
    return runtime::save_sharded_weights(*sharded, *parts_->process, folder, max_size);
  }
  runtime::run_on_main_rank(*parts_->process,
                            [&] { runtime::save_weights(module, folder, max_size); });
}

void Accelerator::load_module(torch::nn::Module& module, const std::string& path,
                              bool strict) const {
  const auto operation = processes().begin_operation("load_checkpoint_in_model");
  const auto model = runtime::find_sharded(*parts_->process, module);
  runtime::run_on_every_rank(*parts_->process,
                             [&] { runtime::load_weights(module, model.get(), path, strict); });
}

void Accelerator::add_checkpointed(std::function<void(torch::serialize::OutputArchive&)> save,
                                   std::function<void(torch::serialize::InputArchive&)> load) {
  parts_->checkpoints.run().add_object({std::move(save), std::move(load)});
}
void Accelerator::register_save_state_pre_hook(CheckpointHook hook) {
  parts_->checkpoints.add_save_hook(std::move(hook));
}
void Accelerator::register_load_state_pre_hook(CheckpointHook hook) {
  parts_->checkpoints.add_load_hook(std::move(hook));
}

void Accelerator::save_state(const std::string& folder) {
  const auto operation = processes().begin_operation("save_state");
  parts_->step.prepare_save();
  parts_->checkpoints.save(folder);
}

void Accelerator::wait_for_save() {
  const auto operation = processes().begin_operation("wait_for_save");
  parts_->checkpoints.wait();
}

void Accelerator::load_state(const std::string& folder) {
  const auto operation = processes().begin_operation("load_state");
  parts_->checkpoints.load(folder, /*required=*/true);
}

bool Accelerator::resume_from_newest() {
  const auto operation = processes().begin_operation("resume_from_newest");
  const bool resumed = parts_->checkpoints.load("", /*required=*/false);
  parts_->checkpoints.expect_saves();
  return resumed;
}

std::uint64_t Accelerator::save_iteration() const { return parts_->checkpoints.next_iteration(); }
void Accelerator::set_save_iteration(std::uint64_t iteration) {
  parts_->checkpoints.set_next_iteration(iteration);
}

// ---- Reporting ----

void Accelerator::init_trackers(const std::string& project_name, const TrackedValues& config) {
  const std::filesystem::path folder(logging_dir());
  parts_->trackers.start(folder.empty() ? folder : folder / project_name, config);
}
void Accelerator::log(const TrackedValues& values, std::optional<std::int64_t> step) {
  parts_->trackers.log(values, step);
}
Tracker& Accelerator::get_tracker(const std::string& name) const {
  return parts_->trackers.get(name);
}
Profile Accelerator::profile(ProfileOptions options) const {
  return Profile(std::move(options), process_index(), device().is_cuda());
}
void Accelerator::end_training() {
  wait_for_save();
  parts_->trackers.finish();
}

}  // namespace accel
