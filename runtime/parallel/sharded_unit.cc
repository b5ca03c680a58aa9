#include "runtime/parallel/sharded_unit.h"

#include <c10/core/Allocator.h>
#include <c10/core/ScalarTypeToTypeMeta.h>

#include <utility>

#include "runtime/comm/communicator.h"
#include "runtime/parallel/libtorch.h"
#include "runtime/parallel/unrecorded.h"
#include "runtime/parallel/without_memory.h"

namespace accel::runtime {
namespace {

std::size_t bytes_of(const at::Tensor& tensor) {
  return static_cast<std::size_t>(tensor.numel()) * tensor.element_size();
}

// Changes the memory of a storage in place, because autograd has saved views of it. Its tensors
// keep their sizes.
void resize(const at::Tensor& flat, std::size_t bytes) {
  c10::StorageImpl* const storage = flat.storage().unsafeGetStorageImpl();
  storage->set_data_ptr_noswap(storage->allocator()->allocate(bytes));
  storage->set_nbytes(bytes);
}

}  // namespace

ShardedUnit::ShardedUnit(std::string name, std::vector<UnitParameter> parameters,
                         const ShardingGroups& groups, ReadListener* listener,
                         const UnitOptions& options)
    : name_(std::move(name)),
      gather_call_("gather " + name_),
      groups_(groups),
      gather_dtype_(options.gather_dtype),
      layout_(std::move(parameters), groups_.parts(), groups_.part()),
      memory_(size() == 0 ? at::kCPU : parameter(0).tensor.device(), options.offloads_parts),
      buffers_(empty_buffers()),
      gradients_(layout_, parts(), groups_, memory_, "reduce " + name_) {
  const Unrecorded unrecorded;
  for (std::size_t i = 0; i < size(); ++i) {
    const Buffer& buffer = buffers_[layout_.buffer_of(i)];
    const at::Tensor& tensor = parameter(i).tensor;
    members_.push_back({.whole = {}, .piece = layout_.piece_in(buffer.part, i)});
    if (has_memory(tensor)) take_piece(i, tensor);
    members_[i].whole = with_reported_reads(layout_.whole_in(buffer.whole, i).view(tensor.sizes()));
  }
  for (Buffer& buffer : buffers_) {
    resize(buffer.whole, 0);
    listen_to_reads(buffer.whole, listener);
  }
  for (std::size_t i = 0; i < size(); ++i) become(parameter(i).tensor, members_[i].whole);
}

ShardedUnit::~ShardedUnit() {
  free();
  for (const Buffer& buffer : buffers_) listen_to_reads(buffer.whole, nullptr);
  const Unrecorded unrecorded;
  for (std::size_t i = 0; i < size(); ++i) become(parameter(i).tensor, members_[i].piece);
}

std::vector<ShardedUnit::Buffer> ShardedUnit::empty_buffers() const {
  const Unrecorded unrecorded;
  std::vector<Buffer> buffers;
  for (std::size_t i = 0; i < layout_.buffers(); ++i) {
    const FlatLayout& flat = layout_.flat(i);
    const at::TensorOptions& options = layout_.options(i);
    buffers.push_back(
        {.part = memory_.zeros(flat.part_size(), c10::typeMetaToScalarType(options.dtype())),
         .whole = at::empty({flat.size()}, options)});
  }
  return buffers;
}

std::vector<at::Tensor> ShardedUnit::parts() const {
  std::vector<at::Tensor> parts;
  for (const Buffer& buffer : buffers_) parts.push_back(buffer.part);
  return parts;
}

void ShardedUnit::take_piece(std::size_t i, const at::Tensor& whole) {
  const Unrecorded unrecorded;
  members_[i].piece.copy_(elements_of(whole.detach().reshape({-1}), held(i)));
}

bool ShardedUnit::is_rounded(const Buffer& buffer) const {
  return gather_dtype_ == GatherDtype::kBfloat16 && buffer.part.scalar_type() == at::kFloat;
}

at::Tensor ShardedUnit::sent(const Buffer& buffer, bool rounds) {
  const at::Tensor part = memory_.on_device(buffer.part);
  return rounds ? part.to(at::kBFloat16) : part;
}

void ShardedUnit::begin_gather() {
  if (is_gathered_ || !begun_.empty()) return;
  const Unrecorded unrecorded;
  for (Buffer& buffer : buffers_) {
    resize(buffer.whole, bytes_of(buffer.whole));
    const bool rounds = is_rounded(buffer);
    const at::Tensor part = sent(buffer, rounds);
    if (groups_.shard == nullptr) {
      buffer.whole.copy_(part);
      continue;
    }
    const at::Tensor whole = buffer.whole;
    const at::Tensor all = rounds ? at::empty(whole.sizes(), part.options()) : whole;
    const auto wait = groups_.shard->begin_all_gather_into(all, part, gather_call_.c_str());
    begun_.push_back([wait, part, all, whole, rounds] {
      wait();
      // free() waits too, and needs no values.
      if (!rounds || whole.storage().nbytes() == 0) return;
      const Unrecorded too;
      whole.copy_(all);
    });
  }
}

void ShardedUnit::gather_at_once(bool is_exact) {
  const Unrecorded unrecorded;
  for (Buffer& buffer : buffers_) {
    resize(buffer.whole, bytes_of(buffer.whole));
    const bool rounds = !is_exact && is_rounded(buffer);
    const at::Tensor part = sent(buffer, rounds);
    if (groups_.shard == nullptr) {
      buffer.whole.copy_(part);
      continue;
    }
    const at::Tensor all = rounds ? at::empty(buffer.whole.sizes(), part.options()) : buffer.whole;
    groups_.shard->all_gather_into(all, part, gather_call_.c_str());
    if (rounds) buffer.whole.copy_(all);
  }
  is_gathered_ = true;
}

void ShardedUnit::gather() {
  if (is_gathered_) return;
  if (begun_.empty()) return gather_at_once(/*is_exact=*/false);
  for (const auto& wait : std::exchange(begun_, {})) wait();
  is_gathered_ = true;
}

// A gather that has begun must end first, because it writes to the memory. If it has failed, so
// will the next collective, whose error the program gets.
//
// A gather that rounds writes to memory of its own. Its buffer is freed first, so that nothing is
// copied to it: a copy may fail, and the destructor calls this.
void ShardedUnit::free() {
  for (Buffer& buffer : buffers_) {
    if (is_rounded(buffer) && !begun_.empty()) resize(buffer.whole, 0);
  }
  for (const auto& wait : std::exchange(begun_, {})) {
    try {
      wait();
    } catch (const CommunicationError&) {
    }
  }
  is_gathered_ = false;
  for (Buffer& buffer : buffers_) {
    if (buffer.whole.storage().nbytes() > 0) resize(buffer.whole, 0);
  }
}

std::int64_t ShardedUnit::bytes(bool only_trained) const {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (only_trained && !layout_.is_trained(i)) continue;
    bytes += layout_.flat(i).size() * static_cast<std::int64_t>(buffers_[i].whole.element_size());
  }
  return bytes;
}

// See begin_gather(): this rank's part and, if there are others, the whole.
std::int64_t ShardedUnit::copied_bytes() const {
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (!is_rounded(buffers_[i])) continue;
    elements += layout_.flat(i).part_size();
    if (groups_.shard != nullptr) elements += layout_.flat(i).size();
  }
  return elements * static_cast<std::int64_t>(c10::elementSize(at::kBFloat16));
}

void ShardedUnit::begin_whole() {
  free();
  gather_at_once(/*is_exact=*/true);
  const Unrecorded unrecorded;
  for (std::size_t i = 0; i < size(); ++i) {
    const at::Tensor& tensor = parameter(i).tensor;
    const at::Tensor& whole = buffers_[layout_.buffer_of(i)].whole;
    become(tensor, layout_.whole_in(whole, i).view(tensor.sizes()));
  }
}

void ShardedUnit::end_whole(bool is_written) {
  memory_.wait();
  const Unrecorded unrecorded;
  for (std::size_t i = 0; i < size(); ++i) {
    if (is_written) take_piece(i, parameter(i).tensor);
    become(parameter(i).tensor, members_[i].whole);
  }
  free();
}

at::Tensor ShardedUnit::piece(std::size_t i) const {
  memory_.wait();
  return members_[i].piece;
}

void ShardedUnit::begin_step() {
  memory_.wait();
  const Unrecorded unrecorded;
  for (std::size_t i = 0; i < size(); ++i) become(parameter(i).tensor, members_[i].piece);
}

void ShardedUnit::end_step() {
  const Unrecorded unrecorded;
  for (std::size_t i = 0; i < size(); ++i) become(parameter(i).tensor, members_[i].whole);
}

// An all-gather would need equal parts, which the pieces of one tensor are not. Padded to the
// largest piece, small tensors would travel as often as there are ranks.
at::Tensor ShardedUnit::whole_of(std::size_t i, const at::Tensor& piece) const {
  const Unrecorded unrecorded;
  const at::Tensor& tensor = parameter(i).tensor;
  const at::Tensor flat = piece.detach().reshape({-1});
  if (groups_.shard == nullptr) return flat.view(tensor.sizes());
  const at::Tensor whole = at::empty({tensor.numel()}, flat.options());
  for (int part = 0; part < groups_.parts(); ++part) {
    const ElementRange range = layout_.held(i, part);
    if (range.size() == 0) continue;
    const at::Tensor place = elements_of(whole, range);
    if (part == groups_.part()) place.copy_(flat);
    groups_.shard->broadcast({place}, part);
  }
  return whole.view(tensor.sizes());
}

}  // namespace accel::runtime
