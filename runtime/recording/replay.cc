// The order of the random numbers. A constructor draws them in the order of its operators, and a
// later constructor continues where an earlier one has ended. So the replay executes all operators
// from a point at which the generator's state is known. This is the start of the tape, or the start
// of a later scope that an earlier replay has passed. The first replay continues to the end of the
// tape, because the program must then find the generator in that state. Tensors that are not wanted
// live until their last use.
#include "runtime/recording/replay.h"

#include <c10/core/DefaultDtype.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/core/replay_plan.h"
#include "runtime/process/generator_state.h"
#include "runtime/recording/libtorch.h"
#include "runtime/recording/plain_dispatch.h"

namespace accel::runtime {
namespace {

using Memories = std::map<int, c10::Storage>;

// Restores what a replay changes in this process.
struct Surroundings {
  Surroundings() = default;
  ~Surroundings() {
    set_generator_state(c10::kCPU, generator);
    c10::set_default_dtype(default_dtype);
  }
  Surroundings(const Surroundings&) = delete;
  Surroundings& operator=(const Surroundings&) = delete;

  at::Tensor generator = generator_state(c10::kCPU);
  const caffe2::TypeMeta default_dtype = c10::get_default_dtype();
};

at::Tensor tensor_of(const Operand& operand, const Memories& memories) {
  return operand.slot < 0 ? operand.constant : view_of(memories.at(operand.slot), operand);
}

torch::jit::Stack arguments_of(const Step& step, const Memories& memories) {
  torch::jit::Stack stack;
  for (const c10::IValue& argument : step.arguments) stack.push_back(argument.deepcopy());
  for (const auto& [argument, operands] : step.tensors) {
    const c10::TypePtr& type = step.op.schema().arguments()[argument].real_type();
    if (type->kind() != c10::TypeKind::ListType) {
      stack[argument] = tensor_of(operands.front(), memories);
    } else if (type->castRaw<c10::ListType>()->getElementType()->kind() ==
               c10::TypeKind::OptionalType) {
      c10::List<std::optional<at::Tensor>> list;
      for (const Operand& operand : operands) {
        const at::Tensor tensor = tensor_of(operand, memories);
        list.push_back(tensor.defined() ? std::optional(tensor) : std::nullopt);
      }
      stack[argument] = std::move(list);
    } else {
      c10::List<at::Tensor> list;
      for (const Operand& operand : operands) list.push_back(tensor_of(operand, memories));
      stack[argument] = std::move(list);
    }
  }
  return stack;
}

// Returns the memory of a result. If the CPU has laid the result out in another way than the tape,
// returns a copy with the layout of the tape. Views of that layout are recorded.
c10::Storage memory_of(const at::Tensor& made, const Operand& operand) {
  if (made.strides() == operand.strides && made.storage_offset() == operand.offset) {
    return made.storage();
  }
  at::Tensor copy = at::empty({0}, made.options());
  copy.set_(
      c10::Storage(at::empty_strided(operand.sizes, operand.strides, made.options()).storage()),
      operand.offset, operand.sizes, operand.strides);
  return copy.copy_(made).storage();
}

void execute(const Step& step, Memories& memories) {
  c10::set_default_dtype(step.default_dtype);
  torch::jit::Stack stack = arguments_of(step, memories);
  step.op.callBoxed(stack);
  std::size_t next = 0;
  const auto keep = [&](const at::Tensor& result) {
    const auto& made = step.made[next++];
    if (made) memories.insert_or_assign(made->slot, memory_of(result, *made));
  };
  for (const c10::IValue& value : stack) {
    if (value.isTensor()) keep(value.toTensor());
    if (!value.isTensorList()) continue;
    for (const at::Tensor& result : value.toTensorVector()) keep(result);
  }
}

}  // namespace

void replay(Tape& tape, const std::map<std::size_t, at::Tensor>& states,
            const std::set<int>& wanted,
            const std::function<void(int slot, const c10::Storage& memory)>& deliver) {
  const bool is_own = &states == &tape.states;
  std::set<std::size_t> starts = {0};
  for (const auto& [step, state] : tape.known) {
    if (is_own) starts.insert(step);
  }
  std::vector<TouchedSlots> touched;
  for (std::size_t i = 0; i < tape.steps.size(); ++i) touched.push_back(tape.touched(i));
  const bool reaches_end = is_own && tape.ended != tape.steps.size();
  const ReplayPlan plan = plan_replay(touched, starts, wanted, reaches_end);

  Surroundings surroundings;
  Memories memories;
  const c10::impl::ForceDispatchKeyGuard plain(plain_dispatch());
  if (is_own && tape.known.contains(plan.begin)) {
    set_generator_state(c10::kCPU, tape.known.at(plan.begin));
  }
  for (std::size_t i = plan.begin; i < plan.end; ++i) {
    if (states.contains(i)) set_generator_state(c10::kCPU, states.at(i));
    if (is_own && i > 0 && tape.starts.contains(i)) tape.known[i] = generator_state(c10::kCPU);
    execute(tape.steps[i], memories);
    for (const int slot : plan.finished[i - plan.begin]) {
      if (wanted.contains(slot)) deliver(slot, memories.at(slot));
      memories.erase(slot);
    }
  }
  if (is_own && plan.end == tape.steps.size()) {
    tape.ended = plan.end;
    tape.end_state = generator_state(c10::kCPU);
  }
  if (is_own && !tape.states.empty() && same_state(surroundings.generator, tape.seen)) {
    surroundings.generator = tape.seen = tape.end_state;
  }
}

at::Tensor view_of(const c10::Storage& memory, const Operand& operand) {
  const at::Tensor view = at::empty({0}, at::TensorOptions(operand.dtype).device(at::kCPU));
  view.set_(memory, operand.offset, operand.sizes, operand.strides);
  if (operand.is_conj) view._set_conj(true);
  if (operand.is_neg) view._set_neg(true);
  return view;
}

}  // namespace accel::runtime
