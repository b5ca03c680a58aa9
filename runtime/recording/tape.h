// The operators that constructors of models have called, to be executed later.
#pragma once

#include <c10/util/typeid.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/recording/libtorch.h"

namespace accel::runtime {

// A tensor as a recorded operator sees it: a view of a slot, which is memory that will exist in the
// replay, or a constant.
struct Operand {
  int slot = -1;        // -1 for a constant.
  at::Tensor constant;  // The values of a tensor that had memory; undefined without a tensor.
  std::vector<std::int64_t> sizes, strides;
  std::int64_t offset = 0;  // In elements, from the start of the slot.
  at::ScalarType dtype = at::kFloat;
  bool is_conj = false, is_neg = false;
};

// One call of an operator.
struct Step {
  c10::OperatorHandle op;
  // Copies, because a caller may change its lists later. Devices are the CPU, tensors are none.
  std::vector<c10::IValue> arguments = {};
  // The tensors, by argument. A list has any number of them.
  std::vector<std::pair<std::size_t, std::vector<Operand>>> tensors = {};
  // The results, lists flattened; nullopt for those that are no new memory.
  std::vector<std::optional<Operand>> made = {};
  // An operator without an explicit dtype uses the default of the time of its call.
  caffe2::TypeMeta default_dtype = {};
};

// Calls in the order in which a thread made them, in one or more recording scopes. A later
// constructor continues the tape, because its random numbers follow those of the earlier one. Each
// recorded storage keeps its tape alive. Not thread-safe.
struct Tape {
  std::vector<Step> steps;
  std::set<std::size_t> starts = {0};  // The first steps of scopes.
  int slots = 0;
  // States of the CPU's generator that the program has set or left, by the step that drew next.
  std::map<std::size_t, at::Tensor> states;
  // The generator's state when it was last looked at. A different state now means that the program
  // has seeded the generator or drawn numbers itself.
  at::Tensor seen;

  // Results of earlier replays: states in which the steps at starts begin, and the state behind
  // the first `ended` steps.
  std::map<std::size_t, at::Tensor> known;
  std::size_t ended = 0;
  at::Tensor end_state;

  // Notes that the next step draws numbers.
  void note_draw();
  // Returns the slots of a step.
  std::vector<int> touched(std::size_t step) const;
  // Returns the values that are arguments, in the order of the steps.
  std::vector<at::Tensor> constants() const;
  // Returns a number that is equal on ranks whose tapes are equal, except for numbers in `states`
  // and constants.
  std::uint64_t digest() const;
};

// The place of a recorded tensor.
struct Recorded {
  std::shared_ptr<Tape> tape;
  int slot = -1;
};

// Returns the place if the tensor is recorded, and null otherwise. The storage owns the result.
const Recorded* recorded(const at::Tensor& tensor);

// Returns a tensor of this shape and dtype on the device "meta" that is the new slot of the tape.
// Operators on it are intercepted in each thread, because it has the key `Fake`. `meta` is a
// tensor that an operator has just made on that device. If its storage is recorded, so is the
// result, with the same slot.
at::Tensor as_recorded(const at::Tensor& meta, const std::shared_ptr<Tape>& tape);

// Returns the operand that stands for a recorded tensor.
Operand operand_of(const at::Tensor& tensor, const Recorded& place);

// Returns true if both states are the same.
bool same_state(const at::Tensor& one, const at::Tensor& other);

}  // namespace accel::runtime
