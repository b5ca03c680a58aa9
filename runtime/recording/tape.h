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

// A tensor as a recorded operator sees it: a constant, or a view of a slot, which is memory that
// will exist in the replay.
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
  // Copies, because a caller may change its lists later. Devices are the CPU. Tensors are left out.
  std::vector<c10::IValue> arguments = {};
  // The tensors, by argument. A list has any number of them.
  std::vector<std::pair<std::size_t, std::vector<Operand>>> tensors = {};
  // The results, with lists flattened. nullopt for a result that is no new memory.
  std::vector<std::optional<Operand>> made = {};
  // The default dtype at the time of the call, for an operator without an explicit dtype.
  caffe2::TypeMeta default_dtype = {};
};

// Calls in the order in which a thread made them, in one or more recording scopes. A later
// constructor continues the tape, because its random numbers follow those of the earlier one. Each
// recorded storage keeps its tape alive. Not thread-safe.
struct Tape {
  std::vector<Step> steps;
  std::set<std::size_t> starts = {0};  // The first steps of scopes.
  int slots = 0;
  // States of the CPU's generator that the program has set or left, by the step that
  // drew after them.
  std::map<std::size_t, at::Tensor> states;
  // The generator's state when it was last looked at. If the state differs now, the program has
  // seeded the generator or drawn numbers itself.
  at::Tensor seen;

  // Results of earlier replays: the states at the steps of `starts`, and the state after the
  // first `ended` steps.
  std::map<std::size_t, at::Tensor> known;
  std::size_t ended = 0;
  at::Tensor end_state;

  // Notes that the next step draws numbers.
  void note_draw();
  // Returns the slots of a step.
  std::vector<int> touched(std::size_t step) const;
  // Returns the constants of all steps, in the order of the steps.
  std::vector<at::Tensor> constants() const;
  // Returns a number that is equal on ranks whose tapes are equal. The numbers in `states` and in
  // constants do not count.
  std::uint64_t digest() const;
};

// The place of a recorded tensor.
struct Recorded {
  std::shared_ptr<Tape> tape;
  int slot = -1;
};

// Returns the place of a recorded tensor, and null for any other tensor. The storage
// owns the result.
const Recorded* recorded(const at::Tensor& tensor);

// Returns a recorded tensor with the shape and dtype of `meta`, which an operator has just made on
// the device "meta". It is a new slot of the tape. If the storage of `meta` is recorded, it is that
// slot. Operators on the result are intercepted in each thread, because it has the key `Fake`.
at::Tensor as_recorded(const at::Tensor& meta, const std::shared_ptr<Tape>& tape);

// Returns the operand that stands for a recorded tensor.
Operand operand_of(const at::Tensor& tensor, const Recorded& place);

// Returns true if both states are the same.
bool same_state(const at::Tensor& one, const at::Tensor& other);

}  // namespace accel::runtime
