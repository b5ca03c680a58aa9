#include "runtime/core/training_state.h"

#include <nlohmann/json.hpp>

#include "accel/errors.h"

namespace accel::runtime {
namespace {

using json = nlohmann::json;

json json_of(const TrainingState& state) {
  json root{{"next_iteration", state.next_iteration},
            {"models", state.models},
            {"optimizers", state.optimizers},
            {"objects", state.objects},
            {"schedulers", json::array()},
            {"loaders", json::array()},
            {"accumulation",
             {{"step", state.accumulation.step},
              {"window", state.accumulation.window},
              {"num_steps", state.accumulation.num_steps}}}};
  for (const SchedulerState& scheduler : state.schedulers) {
    json& entry = root["schedulers"].emplace_back(
        json{{"last_epoch", scheduler.last_epoch}, {"step_count", scheduler.step_count}});
    if (scheduler.libtorch_step_count) {
      entry["libtorch_step_count"] = *scheduler.libtorch_step_count;
    }
  }
  for (const LoaderState& loader : state.loaders) {
    root["loaders"].push_back(
        {{"epoch", loader.epoch}, {"seed", loader.seed}, {"samples", loader.samples}});
  }
  if (state.loss_scale) {
    root["loss_scale"] = {{"scale", state.loss_scale->scale},
                          {"growth_tracker", state.loss_scale->growth_tracker}};
  }
  return root;
}

TrainingState from_json(const json& root) {
  TrainingState state{.next_iteration = root.at("next_iteration"),
                      .models = root.at("models"),
                      .objects = root.at("objects"),
                      .optimizers = root.at("optimizers"),
                      .schedulers = {},
                      .loaders = {},
                      .accumulation = {.step = root.at("accumulation").at("step"),
                                       .window = root.at("accumulation").at("window"),
                                       .num_steps = root.at("accumulation").at("num_steps")},
                      .loss_scale = {}};
  for (const json& scheduler : root.at("schedulers")) {
    SchedulerState& entry = state.schedulers.emplace_back(SchedulerState{
        .last_epoch = scheduler.at("last_epoch"), .step_count = scheduler.at("step_count")});
    if (scheduler.contains("libtorch_step_count")) {
      entry.libtorch_step_count = scheduler["libtorch_step_count"].get<std::int64_t>();
    }
  }
  for (const json& loader : root.at("loaders")) {
    state.loaders.push_back(
        {.epoch = loader.at("epoch"), .seed = loader.at("seed"), .samples = loader.at("samples")});
  }
  if (root.contains("loss_scale")) {
    state.loss_scale = LossScaleState{.scale = root["loss_scale"].at("scale"),
                                      .growth_tracker = root["loss_scale"].at("growth_tracker")};
  }
  return state;
}

// Returns true for a class of LibTorch. Its name is stable; the program's own classes may be
// renamed between two runs.
bool is_libtorchs(const std::string& name) { return name.starts_with("torch::"); }

CheckpointError changed_kind(const std::string& file, const std::string& what, std::size_t number,
                             const std::string& then, const std::string& here) {
  return CheckpointError(file + ": prepared " + what + " " + std::to_string(number) + " was " +
                         then + " and is " + here + " here: prepare the same " + what +
                         "s in the same order");
}

}  // namespace

std::string training_state_text(const TrainingState& state) {
  return json_of(state).dump(2) + "\n";
}

TrainingState parse_training_state(const std::string& text, const std::string& file) {
  try {
    return from_json(json::parse(text));
  } catch (const json::exception& error) {
    throw CheckpointError(file + ": it is not a valid training state: " + error.what());
  }
}

void check_same_program(const TrainingState& saved, const TrainingState& program,
                        const std::string& file) {
  const struct {
    const char* what;
    std::size_t saved, here;
  } counts[] = {{"prepared models", saved.models, program.models},
                {"prepared optimizers", saved.optimizers.size(), program.optimizers.size()},
                {"prepared schedulers", saved.schedulers.size(), program.schedulers.size()},
                {"prepared loaders", saved.loaders.size(), program.loaders.size()},
                {"objects of register_for_checkpointing()", saved.objects, program.objects}};
  for (const auto& [what, then, here] : counts) {
    if (then == here) continue;
    throw CheckpointError(file + ": it was saved by a different program, which had " +
                          std::to_string(then) + " " + what + " where this one has " +
                          std::to_string(here) +
                          ": prepare and register the same objects before load_state()");
  }
  for (std::size_t i = 0; i < saved.optimizers.size(); ++i) {
    const std::string &then = saved.optimizers[i], &here = program.optimizers[i];
    if (then == here || !is_libtorchs(then) || !is_libtorchs(here)) continue;
    throw changed_kind(file, "optimizer", i, then, here);
  }
  for (std::size_t i = 0; i < saved.schedulers.size(); ++i) {
    const bool was_libtorchs = saved.schedulers[i].libtorch_step_count.has_value();
    if (was_libtorchs == program.schedulers[i].libtorch_step_count.has_value()) continue;
    const char* const kinds[] = {"an accel::Scheduler", "one of LibTorch's"};
    throw changed_kind(file, "scheduler", i, kinds[was_libtorchs], kinds[!was_libtorchs]);
  }
  const AccumulationState& window = saved.accumulation;
  if (window.window == 0 || window.num_steps == program.accumulation.num_steps) return;
  throw CheckpointError(
      file + ": it was saved inside a gradient accumulation window with num_steps = " +
      std::to_string(window.num_steps) +
      ", by which its gradients are divided, but this program has " +
      std::to_string(program.accumulation.num_steps) +
      ": load it with the same gradient_accumulation.num_steps, and change it after a step");
}

}  // namespace accel::runtime
