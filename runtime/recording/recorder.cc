// How a call is recorded.
//
// The operators that arrive here are below autograd. So composed operators have been taken apart,
// and shapes, fans and bounds that a constructor computes in C++ are plain numbers. A call is
// executed on "meta", which computes shapes. The operator and its arguments are kept, so that it
// can be executed again.
//
// - Results that share memory with an argument are views. Their storage leads to their place on the
//   tape, so calls that only make views are not recorded.
// - Tensors with memory, such as those of torch::from_blob(), are arguments by value: they are
//   copied to the tape. A call with no other tensors and no random numbers is executed as usual.
// - Random numbers are drawn in the replay. The tape keeps the state of the generator for this.
#include "runtime/recording/recorder.h"

#include <c10/core/DefaultDtype.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/recording/call_on_zeros.h"
#include "runtime/recording/each_tensor.h"
#include "runtime/recording/libtorch.h"
#include "runtime/recording/tape.h"

namespace accel::runtime {
namespace {

using torch::jit::Stack;

thread_local std::shared_ptr<Tape> tape_of_scope;  // Null outside of recording scopes.
thread_local std::weak_ptr<Tape> latest_tape;      // The one that the next scope continues.
thread_local int nested = 0;                       // Calls that other calls make.

struct NestedScope {
  NestedScope() { ++nested; }
  ~NestedScope() { --nested; }
};

std::shared_ptr<Tape> continued_tape() {
  std::shared_ptr<Tape> tape = latest_tape.lock();
  if (tape == nullptr) latest_tape = tape = std::make_shared<Tape>();
  tape->starts.insert(tape->steps.size());
  return tape;
}

std::string name_of(const c10::OperatorHandle& op) { return op.operator_name().name; }

[[noreturn]] void refuse(const c10::OperatorHandle& op, const std::string& why) {
  throw std::invalid_argument("deferred_init: " + name_of(op) + " " + why);
}

c10::DispatchKeySet below(c10::DispatchKeySet keys) {
  return keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kInterceptedKey);
}

bool has_tensors(const c10::IValue& value) {
  return value.isTensor() || value.isTensorList() || value.isOptionalTensorList();
}

// Returns true if each result is a view of an argument, and no argument is written.
bool only_makes_views(const c10::FunctionSchema& schema) {
  for (const c10::Argument& argument : schema.arguments()) {
    if (argument.alias_info() != nullptr && argument.alias_info()->isWrite()) return false;
  }
  for (const c10::Argument& result : schema.returns()) {
    if (result.alias_info() == nullptr) return false;
  }
  return !schema.returns().empty();
}

// One call that is being recorded.
class Call {
 public:
  Call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack)
      : op_(op), keys_(keys), stack_(stack), first_(stack->size() - schema().arguments().size()) {
    for (std::size_t i = 0; i < schema().arguments().size(); ++i) {
      const c10::IValue& value = (*stack_)[first_ + i];
      has_device_ = has_device_ || name(i) == "device";
      is_for_meta_ = is_for_meta_ || (value.isDevice() && value.toDevice().is_meta());
      with_each_tensor(value, [&](const at::Tensor& tensor) {
        if (const Recorded* const place = recorded(tensor)) used_ = place->tape;
        return tensor;
      });
    }
  }

  // Null if no argument is recorded.
  const std::shared_ptr<Tape>& used() const { return used_; }

  bool belongs_on_tape() const {
    if (used_ != nullptr) return true;
    return !is_for_meta_ && !is_for_values() && (has_device_ || draws());
  }

  // Executes the call as if it was not intercepted.
  void execute() {
    const c10::impl::ExcludeDispatchKeyGuard not_intercepted(kInterceptedKey);
    op_.redispatchBoxed(below(keys_), stack_);
  }

  void record_on(const std::shared_ptr<Tape>& tape) {
    if (name_of(op_) == "aten::_local_scalar_dense") {
      refuse(op_, "reads a value that a tensor gets in prepare() only: compute it without tensors");
    }
    Step step{.op = op_, .default_dtype = c10::get_default_dtype()};
    for (std::size_t i = 0; i < schema().arguments().size(); ++i) take_argument(step, i, tape);
    if (draws()) tape->note_draw();
    call_without_values();
    take_results(step, tape);
    if (!only_makes_views(schema())) tape->steps.push_back(std::move(step));
  }

 private:
  const c10::FunctionSchema& schema() const { return op_.schema(); }
  const std::string& name(std::size_t i) const { return schema().arguments()[i].name(); }
  bool draws() const { return op_.hasTag(at::Tag::nondeterministic_seeded); }
  // Returns true if the call must make a tensor with memory. torch::tensor() writes numbers into a
  // new tensor without calling an operator, so the numbers can only be seen in memory
  // (docs/decisions/0086). A cast of a tensor with memory has memory, too, because Module::to()
  // cannot replace a tensor with memory by one without.
  bool is_for_values() const {
    if (name_of(op_) == "aten::_to_copy") return true;
    if (name_of(op_) != "aten::empty") return false;
    const c10::IValue& sizes = (*stack_)[first_];
    bool is_on_cpu = false;
    for (std::size_t i = 0; i < schema().arguments().size(); ++i) {
      const c10::IValue& value = (*stack_)[first_ + i];
      if (name(i) == "device") is_on_cpu = value.isDevice() && value.toDevice().is_cpu();
    }
    return is_on_cpu && sizes.isList() && sizes.toListRef().size() == 1;
  }

  void take_argument(Step& step, std::size_t i, const std::shared_ptr<Tape>& tape) {
    c10::IValue& value = (*stack_)[first_ + i];
    if (value.isStorage()) refuse(op_, "uses a storage, which has no memory yet: use tensors");
    if (value.isGenerator() &&
        value.toGenerator() != at::globalContext().defaultGenerator(c10::kCPU)) {
      refuse(op_, "draws from a generator of the program: use the default one");
    }
    if (value.isDevice() && !value.toDevice().is_cpu()) {
      refuse(op_, "makes a tensor on " + value.toDevice().str() +
                      ": leave the device to prepare(), and make tensors on the CPU");
    }
    if (!has_tensors(value)) {
      step.arguments.push_back(value.isGenerator() ? c10::IValue() : value.deepcopy());
      return;
    }
    const auto* const alias = schema().arguments()[i].alias_info();
    const bool is_written = alias != nullptr && alias->isWrite();
    std::vector<Operand> operands;
    value = with_each_tensor(value, [&](const at::Tensor& tensor) {
      if (!tensor.defined()) {
        operands.emplace_back();
        return tensor;
      }
      if (recorded(tensor) == nullptr && is_written) lose_memory(tensor, tape);
      if (const Recorded* const place = recorded(tensor)) {
        if (place->tape != tape) refuse(op_, "uses a tensor that another thread has recorded");
        operands.push_back(operand_of(tensor, *place));
        return tensor;
      }
      return without_values(operands, tensor);
    });
    step.arguments.emplace_back();
    step.tensors.emplace_back(i, std::move(operands));
  }

  void call_without_values() {
    const NestedScope inner;
    Stack arguments(stack_->begin() + static_cast<std::ptrdiff_t>(first_), stack_->end());
    try {
      return call_on_meta(op_, keys_, stack_);
    } catch (const c10::NotImplementedError&) {
      if (!shows_shapes_on_zeros(op_)) {
        refuse(op_,
               "cannot be called without memory, because LibTorch does not compute its shapes: "
               "use other operators, or build the model as usual");
      }
    }
    call_on_zeros(op_, &arguments);
    stack_->resize(first_);
    stack_->insert(stack_->end(), arguments.begin(), arguments.end());
  }

  // Turns a tensor with memory into a recorded one, because a recorded call is about to write to
  // it. The tensor's values are recorded, too.
  void lose_memory(const at::Tensor& tensor, const std::shared_ptr<Tape>& tape) {
    if (tensor.is_meta() || tensor.storage().use_count() > 1) {
      refuse(op_,
             "writes values that exist in prepare() only to a tensor that other tensors share "
             "memory with, or whose own values are lost: make it inside of the function");
    }
    static const auto clone = c10::Dispatcher::singleton().findSchemaOrThrow("aten::clone", "");
    Stack arguments{tensor, c10::IValue()};
    Call(clone, tensor.key_set(), &arguments).record_on(tape);
    tensor.unsafeGetTensorImpl()->shallow_copy_from(arguments[0].toTensor().getIntrusivePtr());
    dispatch_to_meta();
  }

  // Adds the constant that stands for a tensor with memory, and returns a tensor like
  // it without memory.
  at::Tensor without_values(std::vector<Operand>& operands, const at::Tensor& tensor) {
    if (tensor.is_meta() || tensor.layout() != at::kStrided) {
      refuse(op_, "uses a tensor without values, such as one of without_memory(), or a sparse one");
    }
    const c10::impl::ExcludeDispatchKeyGuard not_intercepted(kInterceptedKey);
    const bool is_number = tensor.unsafeGetTensorImpl()->is_wrapped_number();
    // Copied, because the program may free or change the tensor's memory.
    operands.push_back(
        {.constant = tensor.detach().to(at::kCPU, tensor.scalar_type(), /*non_blocking=*/false,
                                        /*copy=*/true, at::MemoryFormat::Contiguous)});
    at::Tensor meta = at::empty_strided(tensor.sizes(), tensor.strides(),
                                        at::TensorOptions(tensor.dtype()).device(at::kMeta));
    for (const at::Tensor& one : {operands.back().constant, meta}) {
      if (is_number) one.unsafeGetTensorImpl()->set_wrapped_number(true);
    }
    dispatch_to_meta();
    return meta;
  }

  // Changes the keys, which are those of the arguments before they were replaced.
  void dispatch_to_meta() {
    keys_ = keys_.remove_backend(c10::BackendComponent::CPUBit) |
            c10::DispatchKeySet(c10::DispatchKey::Meta);
  }

  void take_results(Step& step, const std::shared_ptr<Tape>& tape) {
    const std::size_t count = schema().returns().size();
    for (std::size_t i = stack_->size() - count; i < stack_->size(); ++i) {
      (*stack_)[i] = with_each_tensor((*stack_)[i], [&](const at::Tensor& tensor) {
        const bool is_known = !tensor.defined() || recorded(tensor) != nullptr;
        if (!is_known && (!tensor.is_meta() || tensor.layout() != at::kStrided)) {
          refuse(op_, "makes a tensor that cannot be recorded, such as a sparse one");
        }
        const at::Tensor result = tensor.defined() ? as_recorded(tensor, tape) : tensor;
        step.made.push_back(is_known ? std::nullopt
                                     : std::optional(operand_of(result, *recorded(result))));
        return result;
      });
    }
  }

  const c10::OperatorHandle& op_;
  c10::DispatchKeySet keys_;
  Stack* const stack_;
  const std::size_t first_;
  std::shared_ptr<Tape> used_;
  bool has_device_ = false, is_for_meta_ = false;
};

}  // namespace

RecordingScope::RecordingScope()
    : guard_(kInterceptedKey), outer_(std::exchange(tape_of_scope, continued_tape())) {}

RecordingScope::~RecordingScope() { tape_of_scope = outer_; }

NoRecordingScope::NoRecordingScope() : outer_(std::exchange(tape_of_scope, nullptr)) {}

NoRecordingScope::~NoRecordingScope() { tape_of_scope = outer_; }

bool record(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  if (nested > 0) return false;
  Call call(op, keys, stack);
  if (tape_of_scope != nullptr) {
    if (call.belongs_on_tape()) {
      call.record_on(tape_of_scope);
    } else {
      call.execute();
    }
    return true;
  }
  if (call.used() == nullptr) return false;
  if (only_makes_views(op.schema())) {
    call.execute();
    return true;
  }
  throw std::logic_error(
      name_of(op) +
      " uses a tensor that was made by deferred_init() and has no values yet. Call prepare() "
      "first, which gives values to parameters and buffers; change them in the function that "
      "deferred_init() calls, or after prepare()");
}

void call_on_meta(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  const auto& arguments = op.schema().arguments();
  const std::size_t first = stack->size() - arguments.size();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name() == "device") (*stack)[first + i] = c10::Device(c10::kMeta);
  }
  op.redispatchBoxed(below(keys), stack);
}

}  // namespace accel::runtime
