#include "runtime/recording/call_on_zeros.h"

#include <cstring>
#include <optional>
#include <set>
#include <string>

#include "runtime/process/generator_state.h"
#include "runtime/recording/each_tensor.h"
#include "runtime/recording/plain_dispatch.h"

namespace accel::runtime {
namespace {

at::Tensor zeros_like(const at::Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  const auto options = at::TensorOptions(tensor.dtype()).device(at::kCPU);
  at::Tensor zeros = at::empty_strided(tensor.sizes(), tensor.strides(), options);
  // By the storage, because the elements of an expanded tensor share memory.
  if (zeros.storage().nbytes() > 0) {
    std::memset(zeros.storage().mutable_data(), 0, zeros.storage().nbytes());
  }
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
    zeros.unsafeGetTensorImpl()->set_wrapped_number(true);
  }
  return zeros;
}

at::Tensor without_memory(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.layout() != at::kStrided) return tensor;
  return at::empty_strided(tensor.sizes(), tensor.strides(),
                           at::TensorOptions(tensor.dtype()).device(at::kMeta));
}

// Restores the state of the generator.
struct KeptGenerator {
  KeptGenerator() = default;
  ~KeptGenerator() { set_generator_state(c10::kCPU, state); }
  KeptGenerator(const KeptGenerator&) = delete;
  KeptGenerator& operator=(const KeptGenerator&) = delete;

  const at::Tensor state = generator_state(c10::kCPU);
};

}  // namespace

bool shows_shapes_on_zeros(const c10::OperatorHandle& op) {
  static const std::set<std::string> names = {
      "aten::bucketize",    "aten::flip",         "aten::index_select", "aten::randperm",
      "aten::roll",         "aten::searchsorted", "aten::take",         "aten::trace",
      "aten::tril_indices", "aten::triu_indices"};
  return names.contains(op.operator_name().name);
}

void call_on_zeros(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const c10::impl::ForceDispatchKeyGuard plain(plain_dispatch());
  for (c10::IValue& value : *stack) value = with_each_tensor(value, zeros_like);
  {
    std::optional<KeptGenerator> kept;
    if (op.hasTag(at::Tag::nondeterministic_seeded)) kept.emplace();
    op.callBoxed(stack);
  }
  for (c10::IValue& value : *stack) value = with_each_tensor(value, without_memory);
}

}  // namespace accel::runtime
