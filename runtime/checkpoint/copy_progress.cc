#include "runtime/checkpoint/copy_progress.h"

#include <sstream>
#include <stdexcept>
#include <string>

#include "runtime/core/training_state.h"

namespace accel::runtime {
namespace {

std::string archive_of(const torch::optim::Optimizer& optimizer) {
  torch::serialize::OutputArchive archive;
  optimizer.save(archive);
  std::ostringstream out;
  archive.save_to(out);
  return out.str();
}

void load_archive_into(torch::optim::Optimizer& optimizer, const std::string& bytes,
                       c10::Device device) {
  std::istringstream in(bytes);
  torch::serialize::InputArchive archive;
  archive.load_from(in, device);
  optimizer.load(archive);
}

// The part of a checkpoint's training state that differs between ranks after uneven inputs.
TrainingState progress_of(const RunState& run) {
  TrainingState progress;
  for (const auto& scheduler : run.schedulers()) progress.schedulers.push_back(scheduler->state());
  progress.accumulation = run.accumulation()->state();
  if (run.scaler() != nullptr) progress.loss_scale = run.scaler()->state();
  return progress;
}

void set_progress(const RunState& run, const TrainingState& progress) {
  if (progress.schedulers.size() != run.schedulers().size()) {
    throw std::logic_error(
        "join_uneven_inputs: a rank has " + std::to_string(progress.schedulers.size()) +
        " prepared schedulers where this one has " + std::to_string(run.schedulers().size()) +
        ": prepare the same objects on every rank");
  }
  run.accumulation()->set_state(progress.accumulation);
  if (run.scaler() != nullptr && progress.loss_scale) {
    run.scaler()->set_state(*progress.loss_scale);
  }
  for (std::size_t i = 0; i < run.schedulers().size(); ++i) {
    run.schedulers()[i]->set_state(progress.schedulers[i]);
  }
}

}  // namespace

void copy_progress(int from, RunState& run, const ProcessState& process) {
  const bool is_source = process.environment.rank == from;
  const auto shared = [&](const std::string& bytes) {
    return process.communicator->broadcast_bytes(bytes, from);
  };
  for (const auto& optimizer : run.optimizers()) {
    const std::string bytes = shared(is_source ? archive_of(*optimizer) : "");
    if (!is_source) load_archive_into(*optimizer, bytes, process.device);
  }
  const std::string text = shared(is_source ? training_state_text(progress_of(run)) : "");
  if (is_source) return;
  set_progress(run, parse_training_state(text, "progress of rank " + std::to_string(from)));
}

}  // namespace accel::runtime
