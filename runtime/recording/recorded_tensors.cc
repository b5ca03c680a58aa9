#include "runtime/recording/recorded_tensors.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/parallel/without_memory.h"
#include "runtime/recording/replay.h"

namespace accel::runtime {
namespace {

// Returns rank 0's states of the generator, which take the places of this rank's. Collective.
std::map<std::size_t, at::Tensor> states_of_rank_zero(const Tape& tape, Communicator& world) {
  std::map<std::size_t, at::Tensor> states;
  std::vector<at::Tensor> memory;
  for (const auto& [step, state] : tape.states) {
    memory.push_back(states[step] = state.clone());
  }
  if (!memory.empty()) world.broadcast(memory);
  return states;
}

bool are_own(const std::map<std::size_t, at::Tensor>& states, const Tape& tape) {
  return std::ranges::all_of(
      states, [&](const auto& one) { return same_state(one.second, tape.states.at(one.first)); });
}

}  // namespace

RecordedTensors::RecordedTensors(const torch::nn::Module& module) {
  std::set<const void*> seen;
  const auto take = [&](const at::Tensor& tensor) {
    const Recorded* const place = recorded(tensor);
    if (place == nullptr || !seen.insert(tensor.unsafeGetTensorImpl()).second) return;
    auto tape = std::ranges::find(tapes_, place->tape, [](const auto& one) { return one.first; });
    if (tape == tapes_.end()) tape = tapes_.insert(tape, {place->tape, {}});
    tape->second.push_back({tensor, tensor.variable_data()});
  };
  for (const at::Tensor& tensor : module.parameters()) take(tensor);
  for (const at::Tensor& tensor : module.buffers()) take(tensor);
}

std::set<int> RecordedTensors::slots_of(const std::vector<One>& all) {
  std::set<int> slots;
  for (const One& one : all) slots.insert(recorded(one.place)->slot);
  return slots;
}

void RecordedTensors::give_whole(c10::Device device) const {
  for (const auto& [tape, all] : tapes_) {
    replay(*tape, tape->states, slots_of(all), [&](int slot, const c10::Storage& memory) {
      for (const One& one : all) {
        const Recorded& place = *recorded(one.place);
        if (place.slot != slot) continue;
        become(one.tensor, view_of(memory, operand_of(one.place, place)).to(device));
      }
    });
  }
}

// Throws on all ranks if they have recorded different operators, or miss different tensors.
void RecordedTensors::expect_equal_on_all_ranks(Communicator& world) const {
  std::string what;
  for (const auto& [tape, all] : tapes_) {
    what += std::to_string(tape->digest());
    for (const One& one : all) what += ' ' + std::to_string(recorded(one.place)->slot);
    what += '\n';
  }
  const std::vector<std::string> others = world.all_gather_bytes(what);
  for (std::size_t rank = 1; rank < others.size(); ++rank) {
    if (others[rank] == others[0]) continue;
    throw std::invalid_argument(
        "prepare: the constructor of a model has called other operators on rank " +
        std::to_string(rank) +
        " than on rank 0, or deferred_init() has made the model on one of them only: build the "
        "model in the same way on all ranks");
  }
}

std::set<const void*> RecordedTensors::give(
    const std::set<const void*>& missing, Communicator& world,
    const std::function<void(const at::Tensor& tensor, const at::Tensor& value)>& deliver) {
  if (missing.empty()) return {};
  const auto has_value = [&](const One& one) {
    return !missing.contains(one.tensor.unsafeGetTensorImpl());
  };
  for (auto& [tape, all] : tapes_) std::erase_if(all, has_value);
  std::erase_if(tapes_, [](const auto& tape) { return tape.second.empty(); });
  expect_equal_on_all_ranks(world);
  std::set<const void*> given;
  for (const auto& [tape, all] : tapes_) {
    const auto states = states_of_rank_zero(*tape, world);
    if (const auto constants = tape->constants(); !constants.empty()) world.broadcast(constants);
    const auto give_slot = [&](int slot, const c10::Storage& memory) {
      for (const One& one : all) {
        const Recorded& place = *recorded(one.place);
        if (place.slot != slot) continue;
        deliver(one.tensor, view_of(memory, operand_of(one.place, place)));
        given.insert(one.tensor.unsafeGetTensorImpl());
      }
    };
    if (are_own(states, *tape)) {
      replay(*tape, tape->states, slots_of(all), give_slot);
      continue;
    }
    // This rank has another seed. Its own replay only brings its generator to the state
    // after the draws.
    replay(*tape, states, slots_of(all), give_slot);
    replay(*tape, tape->states, slots_of(all), [](int, const c10::Storage&) {});
  }
  return given;
}

}  // namespace accel::runtime
