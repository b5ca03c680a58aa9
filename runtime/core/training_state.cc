#include "runtime/core/training_state.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "accel/errors.h"
#include "weights/core/parse_json.h"
#include "weights/core/shown.h"

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

// Returns a whole number. Throws std::out_of_range if the value is anything else or does not fit,
// because a conversion of nlohmann's would cut it off.
template <typename Integer>
Integer integer(const json& object, const char* key) {
  const json& value = object.at(key);
  const bool fits =
      value.is_number_unsigned()
          ? std::in_range<Integer>(value.get<std::uint64_t>())
          : value.is_number_integer() && std::in_range<Integer>(value.get<std::int64_t>());
  if (!fits) throw std::out_of_range(std::string("\"") + key + "\" is not a valid number");
  return value.get<Integer>();
}

TrainingState from_json(const json& root) {
  const json& accumulation = root.at("accumulation");
  TrainingState state{.next_iteration = integer<std::uint64_t>(root, "next_iteration"),
                      .models = integer<std::size_t>(root, "models"),
                      .objects = integer<std::size_t>(root, "objects"),
                      .optimizers = root.at("optimizers"),
                      .schedulers = {},
                      .loaders = {},
                      .accumulation = {.step = integer<std::int64_t>(accumulation, "step"),
                                       .window = integer<int>(accumulation, "window"),
                                       .num_steps = integer<int>(accumulation, "num_steps")},
                      .loss_scale = {}};
  for (const json& scheduler : root.at("schedulers")) {
    SchedulerState& entry = state.schedulers.emplace_back(
        SchedulerState{.last_epoch = integer<std::int64_t>(scheduler, "last_epoch"),
                       .step_count = integer<std::int64_t>(scheduler, "step_count")});
    if (scheduler.contains("libtorch_step_count")) {
      entry.libtorch_step_count = integer<std::int64_t>(scheduler, "libtorch_step_count");
    }
  }
  for (const json& loader : root.at("loaders")) {
    state.loaders.push_back({.epoch = integer<std::uint64_t>(loader, "epoch"),
                             .seed = integer<std::uint64_t>(loader, "seed"),
                             .samples = integer<std::uint64_t>(loader, "samples")});
  }
  if (root.contains("loss_scale")) {
    const json& loss_scale = root["loss_scale"];
    const double scale = loss_scale.at("scale");
    if (!(std::abs(scale) <= std::numeric_limits<float>::max())) {
      throw std::out_of_range("\"scale\" is not a valid number");
    }
    state.loss_scale =
        LossScaleState{.scale = static_cast<float>(scale),
                       .growth_tracker = integer<std::int32_t>(loss_scale, "growth_tracker")};
  }
  return state;
}

// Returns true for a class of LibTorch. Its name is stable; the program's own classes may be
// renamed between two runs.
bool is_libtorchs(const std::string& name) { return name.starts_with("torch::"); }

CheckpointError changed_kind(const std::string& file, const std::string& what, std::size_t number,
                             const std::string& then, const std::string& here) {
  return CheckpointError(file + ": prepared " + what + " " + std::to_string(number) + " was " +
                         weights::shown(then) + " and is " + here + " here: prepare the same " +
                         what + "s in the same order");
}

}  // namespace

std::string training_state_text(const TrainingState& state) {
  return json_of(state).dump(2) + "\n";
}

TrainingState parse_training_state(const std::string& text, const std::string& file) {
  const auto invalid = [&file](const std::string& why) {
    return CheckpointError(file + ": it is not a valid training state: " + weights::shown(why) +
                           ": use another checkpoint");
  };
  const json root = weights::parse_json(text);
  if (root.is_discarded()) throw invalid("it is not JSON");
  try {
    return from_json(root);
  } catch (const json::exception& error) {
    throw invalid(error.what());
  } catch (const std::out_of_range& error) {
    throw invalid(error.what());
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
