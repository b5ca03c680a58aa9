#include "runtime/parallel/unit_gradients.h"

#include <utility>

#include "runtime/comm/communicator.h"
#include "runtime/core/sharding/flat_layout.h"
#include "runtime/parallel/unrecorded.h"

namespace accel::runtime {

UnitGradients::UnitGradients(const UnitLayout& layout, const std::vector<at::Tensor>& parts,
                             const ShardingGroups& groups, PartMemory& memory, std::string call)
    : layout_(layout),
      groups_(groups),
      memory_(memory),
      call_(std::move(call)),
      members_(layout.parameters().size()) {
  for (const at::Tensor& part : parts) buffers_.push_back({.part = part});
}

void UnitGradients::add(std::size_t i) {
  const Unrecorded unrecorded;
  const std::size_t index = layout_.buffer_of(i);
  Buffer& buffer = buffers_[index];
  at::Tensor& gradient = layout_.tensor(i).mutable_grad();
  if (!gradient.defined()) return;
  if (!buffer.gradients.defined()) {
    buffer.gradients = at::empty({layout_.flat(index).size()}, layout_.options(index));
  }
  const at::Tensor place = layout_.whole_in(buffer.gradients, i).view(gradient.sizes());
  std::exchange(members_[i].is_added, true) ? place.add_(gradient) : place.copy_(gradient);
  gradient = at::Tensor();
}

bool UnitGradients::has_unreduced() const {
  for (const Buffer& buffer : buffers_) {
    if (buffer.gradients.defined()) return true;
  }
  return false;
}

void UnitGradients::reduce(std::size_t index) {
  Buffer& buffer = buffers_[index];
  const FlatLayout& flat = layout_.flat(index);
  if (!buffer.gradients.defined()) {
    buffer.gradients = at::empty({flat.size()}, layout_.options(index));
  }
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (layout_.buffer_of(i) != index || std::exchange(members_[i].is_added, false)) continue;
    layout_.whole_in(buffer.gradients, i).zero_();
  }
  for (const ElementRange& gap : flat.gaps()) elements_of(buffer.gradients, gap).zero_();
  at::Tensor mean;
  if (groups_.shard == nullptr) {
    mean = std::move(buffer.gradients);
  } else {
    mean = at::empty({flat.part_size()}, layout_.options(index));
    groups_.shard->reduce_scatter_sum(mean, buffer.gradients, call_.c_str());
  }
  buffer.gradients = at::Tensor();
  if (groups_.replicate != nullptr) groups_.replicate->all_reduce_sum(mean);
  mean.mul_(1.0 / groups_.world->size());
  mean = memory_.part_of(mean);
  if (buffer.mean.defined()) {
    memory_.wait();
    buffer.mean.add_(mean);
  } else {
    buffer.mean = std::move(mean);
  }
}

void UnitGradients::reduce() {
  const Unrecorded unrecorded;
  for (std::size_t index = 0; index < buffers_.size(); ++index) {
    if (layout_.is_trained(index)) reduce(index);
  }
}

void UnitGradients::drop(std::size_t i) {
  members_[i].is_added = false;
  const std::size_t index = layout_.buffer_of(i);
  for (std::size_t other = 0; other < members_.size(); ++other) {
    if (layout_.buffer_of(other) == index && members_[other].is_added) return;
  }
  buffers_[index].gradients = at::Tensor();
}

void UnitGradients::drop_all() {
  for (Buffer& buffer : buffers_) buffer.gradients = buffer.mean = at::Tensor();
  for (Member& member : members_) member.is_added = false;
}

// The program may have zeroed, scaled, replaced or dropped any of the pieces since the last pass.
// Pieces that it has left in place are not copied.
void UnitGradients::take_means() {
  const Unrecorded unrecorded;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const at::Tensor& gradient = layout_.tensor(i).grad();
    members_[i].had_mean = gradient.defined();
    Buffer& buffer = buffers_[layout_.buffer_of(i)];
    if (!members_[i].had_mean || buffer.mean.defined()) continue;
    buffer.mean = gradient.storage().nbytes() == buffer.part.nbytes()
                      ? gradient.variable_data().as_strided(buffer.part.sizes(), {1}, 0)
                      : at::zeros_like(buffer.part);
  }
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const at::Tensor& mean = buffers_[layout_.buffer_of(i)].mean;
    if (!mean.defined()) continue;
    at::Tensor& gradient = layout_.tensor(i).mutable_grad();
    const at::Tensor piece = layout_.piece_in(mean, i);
    if (!members_[i].had_mean) {
      piece.zero_();
    } else if (gradient.const_data_ptr() != piece.const_data_ptr()) {
      piece.copy_(gradient);
    }
    gradient = at::Tensor();
  }
}

void UnitGradients::give_means(const std::vector<bool>& has_mean) {
  memory_.wait();
  const Unrecorded unrecorded;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const at::Tensor& mean = buffers_[layout_.buffer_of(i)].mean;
    if ((!has_mean[i] && !members_[i].had_mean) || !mean.defined()) continue;
    // No view, because zero_grad() detaches gradients in place.
    layout_.tensor(i).mutable_grad() = layout_.piece_in(mean, i).variable_data();
  }
  // From now on the gradients of the parameters alone hold the memory.
  for (Buffer& buffer : buffers_) buffer.mean = at::Tensor();
}

}  // namespace accel::runtime
