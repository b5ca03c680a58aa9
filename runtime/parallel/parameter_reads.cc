// How operators are intercepted in modules that have no hooks (docs/decisions/0063).
//
// LibTorch's dispatcher chooses the kernel of an operator by the keys of its arguments. Here a
// kernel for all operators is registered under a key that LibTorch itself never uses. An operator
// on a tensor with this key calls this kernel first, before autograd and autocast. Other tensors do
// not have the key, so they cost nothing. The kernel reports the read, excludes the key on this
// thread and calls the operator again, which then takes its usual way.
//
// Keys belong to tensors and memory belongs to storages. A view of a parameter, such as the
// transposed weight that a linear layer saves for its backward pass, inherits the key and shares
// the storage. So the listener is found by the storage, and the same kernel serves backward passes.
#include "runtime/parallel/parameter_reads.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <array>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace accel::runtime {
namespace {

// The listeners by their storages. Never destroyed, because operators may run
// during static destruction.
struct Registry {
  std::mutex mutex;
  std::unordered_map<const c10::StorageImpl*, ReadListener*> listeners;
};

Registry& registry() {
  static auto* const all = new Registry;
  return *all;
}

ReadListener* listener_of(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.key_set().has(kReadsKey) || !tensor.has_storage()) {
    return nullptr;
  }
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto found = all.listeners.find(tensor.storage().unsafeGetStorageImpl());
  return found == all.listeners.end() ? nullptr : found->second;
}

template <typename Body>
void for_each_tensor(const c10::IValue& value, const Body& body) {
  if (value.isTensor()) {
    body(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) body(tensor);
  } else if (value.isList()) {  // Of optional tensors, such as the indices of index().
    for (const c10::IValue& item : value.toListRef()) {
      if (item.isTensor()) body(item.toTensor());
    }
  }
}

// Returns true for operators that do not use the elements of their argument, although their schema
// does not say so.
bool uses_no_elements(const c10::OperatorHandle& op) {
  static constexpr std::array<std::string_view, 8> kNames = {
      "aten::requires_grad_", "aten::set_data",    "aten::_has_compatible_shallow_copy_type",
      "aten::retain_grad",    "aten::is_leaf",     "aten::output_nr",
      "aten::_version",       "aten::retains_grad"};
  const std::string_view name = op.operator_name().name;
  for (const std::string_view known : kNames) {
    if (name == known) return true;
  }
  return false;
}

bool writes(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

void report(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  const auto& arguments = op.schema().arguments();
  const std::size_t first = stack.size() - arguments.size();
  ReadListener* only = nullptr;
  std::vector<ReadListener*> several;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    for_each_tensor(stack[first + i], [&](const at::Tensor& tensor) {
      ReadListener* const listener = listener_of(tensor);
      if (listener == nullptr) return;
      if (writes(arguments[i]) && !uses_no_elements(op)) {
        listener->refuse_write(op.operator_name().name);
      }
      if (only == nullptr) only = listener;
      if (listener != only) several.push_back(listener);
    });
  }
  if (only == nullptr || uses_no_elements(op)) return;
  only->before_read();
  if (several.empty()) return;
  several.push_back(only);
  for (ReadListener* const listener : several) listener->before_read();
  for (ReadListener* const listener : several) listener->before_joint_read();
}

void intercept(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/,
               torch::jit::Stack* stack) {
  report(op, *stack);
  const UnreportedScope once(kReadsKey);
  op.callBoxed(stack);
}

TORCH_LIBRARY_IMPL(_, DeferredInit, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&intercept>());
}

}  // namespace

void listen_to_reads(const at::Tensor& tensor, ReadListener* listener) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const c10::StorageImpl* const storage = tensor.storage().unsafeGetStorageImpl();
  if (listener == nullptr) {
    all.listeners.erase(storage);
  } else {
    all.listeners[storage] = listener;
  }
}

at::Tensor with_reported_reads(const at::Tensor& tensor) {
  auto impl = c10::make_intrusive<c10::TensorImpl>(
      c10::Storage(tensor.storage()), tensor.key_set() | c10::DispatchKeySet(kReadsKey),
      tensor.dtype());
  impl->set_sizes_and_strides(tensor.sizes(), tensor.strides(), tensor.storage_offset());
  return at::Tensor(std::move(impl));
}

}  // namespace accel::runtime
