// How a tensor without memory leads to its place on a tape.
//
// The tensor's storage keeps the place, as the context of its data pointer, which LibTorch
// deletes with the storage. So views, detached tensors and tensors that set_data() has changed
// have the same place as the tensor that they share memory with. A tape lives as long as one
// of its storages.
#include "runtime/recording/tape.h"

#include <c10/core/DispatchKeySet.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

#include <cstring>
#include <span>
#include <sstream>

#include "runtime/core/parameter_digest.h"
#include "runtime/process/generator_state.h"

namespace accel::runtime {
namespace {

void release(void* place) { delete static_cast<Recorded*>(place); }

void describe(const Operand& operand, std::ostream& out) {
  out << " slot " << operand.slot << ' ' << operand.sizes << operand.strides << operand.offset
      << operand.dtype << operand.is_conj << operand.is_neg;
  if (operand.constant.defined()) out << operand.constant.sizes() << operand.constant.dtype();
}

}  // namespace

void Tape::note_draw() {
  const at::Tensor now = generator_state(c10::kCPU);
  if (seen.defined() && same_state(now, seen)) return;
  states[steps.size()] = seen = now;
}

std::vector<int> Tape::touched(std::size_t step) const {
  std::set<int> all;
  for (const auto& [argument, operands] : steps[step].tensors) {
    for (const Operand& operand : operands) all.insert(operand.slot);
  }
  for (const auto& operand : steps[step].made) {
    if (operand) all.insert(operand->slot);
  }
  all.erase(-1);
  return {all.begin(), all.end()};
}

std::vector<at::Tensor> Tape::constants() const {
  std::vector<at::Tensor> all;
  for (const Step& step : steps) {
    for (const auto& [argument, operands] : step.tensors) {
      for (const Operand& operand : operands) {
        if (operand.constant.defined()) all.push_back(operand.constant);
      }
    }
  }
  return all;
}

std::uint64_t Tape::digest() const {
  std::vector<std::uint64_t> digests;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    std::ostringstream text;
    text << step.op.operator_name() << step.default_dtype << states.contains(i);
    for (const c10::IValue& argument : step.arguments) text << ' ' << argument;
    for (const auto& [argument, operands] : step.tensors) {
      text << " argument " << argument;
      for (const Operand& operand : operands) describe(operand, text);
    }
    for (const auto& operand : step.made) {
      if (operand) describe(*operand, text);
    }
    const std::string line = text.str();
    digests.push_back(digest_of(std::as_bytes(std::span(line))));
  }
  return combined(digests);
}

const Recorded* recorded(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_meta() || !tensor.has_storage()) return nullptr;
  return tensor.storage().data_ptr().cast_context<Recorded>(&release);
}

at::Tensor as_recorded(const at::Tensor& meta, const std::shared_ptr<Tape>& tape) {
  constexpr c10::DispatchKeySet kFake(c10::DispatchKey::Fake);
  const bool is_known = recorded(meta) != nullptr;
  if (is_known && meta.key_set().has_all(kFake)) return meta;
  const c10::Storage& storage = meta.storage();
  if (!is_known) {
    auto* const place = new Recorded{.tape = tape, .slot = tape->slots++};
    storage.unsafeGetStorageImpl()->set_data_ptr_noswap(
        {nullptr, place, &release, c10::Device(c10::kMeta)});
  }
  auto impl = c10::make_intrusive<c10::TensorImpl>(c10::Storage(storage), meta.key_set() | kFake,
                                                   meta.dtype());
  impl->set_sizes_and_strides(meta.sizes(), meta.strides(), meta.storage_offset());
  return at::Tensor(std::move(impl));
}

Operand operand_of(const at::Tensor& tensor, const Recorded& place) {
  return {.slot = place.slot,
          .constant = {},
          .sizes = tensor.sizes().vec(),
          .strides = tensor.strides().vec(),
          .offset = tensor.storage_offset(),
          .dtype = tensor.scalar_type(),
          .is_conj = tensor.is_conj(),
          .is_neg = tensor.is_neg()};
}

bool same_state(const at::Tensor& one, const at::Tensor& other) {
  return one.nbytes() == other.nbytes() &&
         std::memcmp(one.const_data_ptr(), other.const_data_ptr(), one.nbytes()) == 0;
}

}  // namespace accel::runtime
