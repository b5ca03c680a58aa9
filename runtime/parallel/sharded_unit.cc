#include "runtime/parallel/sharded_unit.h"

#include <c10/core/Allocator.h>

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/parallel/libtorch.h"
#include "runtime/parallel/without_memory.h"

namespace accel::runtime {
namespace {

// The state of all functions here: what they do to parameters is no operator of the program.
struct Unrecorded {
  const at::NoGradGuard no_graph;
  const UnreportedScope unreported{kReadsKey};
};

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

at::Tensor part_of(const at::Tensor& flat, const ElementRange& range) {
  return flat.narrow(0, range.begin, range.size());
}

}  // namespace

ShardedUnit::ShardedUnit(std::string name, std::vector<UnitParameter> parameters,
                         const ShardingGroups& groups, ReadListener* listener,
                         const UnitOptions& options)
    : name_(std::move(name)),
      gather_call_("gather " + name_),
      reduce_call_("reduce " + name_),
      groups_(groups),
      gather_dtype_(options.gather_dtype),
      memory_(parameters.empty() ? at::kCPU : parameters.front().tensor.device(),
              options.offloads_parts) {
  const Unrecorded unrecorded;
  for (UnitParameter& parameter : parameters) {
    members_.push_back({.parameter = std::move(parameter)});
  }
  lay_out();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& member = members_[i];
    const Buffer& buffer = buffers_[member.buffer];
    const at::Tensor& tensor = member.parameter.tensor;
    member.piece = piece_in(buffer.part, member);
    if (has_memory(tensor)) take_piece(i, tensor);
    member.whole = with_reported_reads(
        part_of(buffer.whole, buffer.layout.place(member.place)).view(tensor.sizes()));
  }
  for (Buffer& buffer : buffers_) {
    resize(buffer.whole, 0);
    listen_to_reads(buffer.whole, listener);
  }
  for (Member& member : members_) become(member.parameter.tensor, member.whole);
}

ShardedUnit::~ShardedUnit() {
  free();
  for (const Buffer& buffer : buffers_) listen_to_reads(buffer.whole, nullptr);
  const Unrecorded unrecorded;
  for (Member& member : members_) become(member.parameter.tensor, member.piece);
}

// Frozen parameters get a separate buffer, because they need no gradients.
void ShardedUnit::lay_out() {
  std::map<std::pair<at::ScalarType, bool>, std::vector<std::int64_t>> sizes;
  for (const Member& member : members_) {
    const at::Tensor& tensor = member.parameter.tensor;
    sizes[{tensor.scalar_type(), tensor.requires_grad()}].push_back(tensor.numel());
  }
  std::map<std::pair<at::ScalarType, bool>, std::pair<std::size_t, std::size_t>> next;
  for (const auto& [kind, list] : sizes) {
    next[kind] = {buffers_.size(), 0};
    const FlatLayout layout(list, groups_.parts());
    const auto options = members_.front().parameter.tensor.options().dtype(kind.first);
    buffers_.push_back({.layout = layout,
                        .part = memory_.zeros(layout.part_size(), kind.first),
                        .whole = at::empty({layout.size()}, options.requires_grad(false))});
  }
  for (Member& member : members_) {
    const at::Tensor& tensor = member.parameter.tensor;
    auto& [buffer, place] = next[{tensor.scalar_type(), tensor.requires_grad()}];
    member.buffer = buffer;
    member.place = place++;
  }
}

at::Tensor ShardedUnit::piece_in(const at::Tensor& part, const Member& member) const {
  const FlatLayout& layout = buffers_[member.buffer].layout;
  return part.narrow(0, layout.piece_offset(member.place, groups_.part()),
                     layout.piece(member.place, groups_.part()).size());
}

ElementRange ShardedUnit::held(std::size_t i) const {
  return buffers_[members_[i].buffer].layout.piece(members_[i].place, groups_.part());
}

void ShardedUnit::take_piece(std::size_t i, const at::Tensor& whole) {
  const Unrecorded unrecorded;
  members_[i].piece.copy_(part_of(whole.detach().reshape({-1}), held(i)));
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

void ShardedUnit::add_gradient(std::size_t i) {
  const Unrecorded unrecorded;
  Member& member = members_[i];
  Buffer& buffer = buffers_[member.buffer];
  at::Tensor& gradient = member.parameter.tensor.mutable_grad();
  if (!gradient.defined()) return;
  if (!buffer.gradients.defined()) {
    buffer.gradients = at::empty({buffer.layout.size()}, buffer.whole.options());
  }
  const at::Tensor place =
      part_of(buffer.gradients, buffer.layout.place(member.place)).view(gradient.sizes());
  std::exchange(member.is_added, true) ? place.add_(gradient) : place.copy_(gradient);
  gradient = at::Tensor();
}

bool ShardedUnit::has_gradients() const {
  for (const Buffer& buffer : buffers_) {
    if (buffer.gradients.defined()) return true;
  }
  return false;
}

std::int64_t ShardedUnit::bytes(bool only_trained) const {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (only_trained && !is_trained(i)) continue;
    bytes +=
        buffers_[i].layout.size() * static_cast<std::int64_t>(buffers_[i].whole.element_size());
  }
  return bytes;
}

// See begin_gather(): this rank's part and, if there are others, the whole.
std::int64_t ShardedUnit::copied_bytes() const {
  std::int64_t elements = 0;
  for (const Buffer& buffer : buffers_) {
    if (!is_rounded(buffer)) continue;
    elements += buffer.layout.part_size();
    if (groups_.shard != nullptr) elements += buffer.layout.size();
  }
  return elements * static_cast<std::int64_t>(c10::elementSize(at::kBFloat16));
}

bool ShardedUnit::is_trained(std::size_t index) const {
  return std::any_of(members_.begin(), members_.end(), [&](const Member& member) {
    return member.buffer == index && member.parameter.tensor.requires_grad();
  });
}

void ShardedUnit::reduce(Buffer& buffer, std::size_t index) {
  if (!buffer.gradients.defined()) {
    buffer.gradients = at::empty({buffer.layout.size()}, buffer.whole.options());
  }
  for (Member& member : members_) {
    if (member.buffer != index || std::exchange(member.is_added, false)) continue;
    part_of(buffer.gradients, buffer.layout.place(member.place)).zero_();
  }
  for (const ElementRange& gap : buffer.layout.gaps()) part_of(buffer.gradients, gap).zero_();
  at::Tensor mean;
  if (groups_.shard == nullptr) {
    mean = std::move(buffer.gradients);
  } else {
    mean = at::empty({buffer.layout.part_size()}, buffer.whole.options());
    groups_.shard->reduce_scatter_sum(mean, buffer.gradients, reduce_call_.c_str());
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

void ShardedUnit::reduce() {
  const Unrecorded unrecorded;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (is_trained(i)) reduce(buffers_[i], i);
  }
}

void ShardedUnit::drop_gradient(std::size_t i) {
  members_[i].is_added = false;
  const std::size_t buffer = members_[i].buffer;
  const bool has_others = std::ranges::any_of(
      members_, [&](const Member& member) { return member.buffer == buffer && member.is_added; });
  if (!has_others) buffers_[buffer].gradients = at::Tensor();
}

void ShardedUnit::drop_gradients() {
  for (Buffer& buffer : buffers_) buffer.gradients = buffer.mean = at::Tensor();
  for (Member& member : members_) member.is_added = false;
}

// The program may have zeroed, scaled, replaced or dropped any of the pieces since the last pass.
// Pieces that it has left in place are not copied.
void ShardedUnit::take_means() {
  const Unrecorded unrecorded;
  for (Member& member : members_) {
    const at::Tensor& gradient = member.parameter.tensor.grad();
    member.had_mean = gradient.defined();
    Buffer& buffer = buffers_[member.buffer];
    if (!member.had_mean || buffer.mean.defined()) continue;
    buffer.mean = gradient.storage().nbytes() == bytes_of(buffer.part)
                      ? gradient.variable_data().as_strided(buffer.part.sizes(), {1}, 0)
                      : at::zeros_like(buffer.part);
  }
  for (Member& member : members_) {
    const at::Tensor& mean = buffers_[member.buffer].mean;
    if (!mean.defined()) continue;
    at::Tensor& gradient = member.parameter.tensor.mutable_grad();
    const at::Tensor piece = piece_in(mean, member);
    if (!member.had_mean) {
      piece.zero_();
    } else if (gradient.const_data_ptr() != piece.const_data_ptr()) {
      piece.copy_(gradient);
    }
    gradient = at::Tensor();
  }
}

void ShardedUnit::give_means(const std::vector<bool>& has_mean) {
  memory_.wait();
  const Unrecorded unrecorded;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& member = members_[i];
    const at::Tensor& mean = buffers_[member.buffer].mean;
    if ((!has_mean[i] && !member.had_mean) || !mean.defined()) continue;
    // No view, because zero_grad() detaches gradients in place.
    member.parameter.tensor.mutable_grad() = piece_in(mean, member).variable_data();
  }
  // From now on the gradients of the parameters alone hold the memory.
  for (Buffer& buffer : buffers_) buffer.mean = at::Tensor();
}

void ShardedUnit::begin_whole() {
  free();
  gather_at_once(/*is_exact=*/true);
  const Unrecorded unrecorded;
  for (Member& member : members_) {
    const Buffer& buffer = buffers_[member.buffer];
    become(member.parameter.tensor, part_of(buffer.whole, buffer.layout.place(member.place))
                                        .view(member.parameter.tensor.sizes()));
  }
}

void ShardedUnit::end_whole(bool is_written) {
  memory_.wait();
  const Unrecorded unrecorded;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& member = members_[i];
    if (is_written) take_piece(i, member.parameter.tensor);
    become(member.parameter.tensor, member.whole);
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
  for (Member& member : members_) become(member.parameter.tensor, member.piece);
}

void ShardedUnit::end_step() {
  const Unrecorded unrecorded;
  for (Member& member : members_) become(member.parameter.tensor, member.whole);
}

// An all-gather would need equal parts, which the pieces of one tensor are not. Padded to the
// largest piece, small tensors would travel as often as there are ranks.
at::Tensor ShardedUnit::whole_of(std::size_t i, const at::Tensor& piece) const {
  const Unrecorded unrecorded;
  const Member& member = members_[i];
  const FlatLayout& layout = buffers_[member.buffer].layout;
  const at::Tensor& parameter = member.parameter.tensor;
  const at::Tensor flat = piece.detach().reshape({-1});
  if (groups_.shard == nullptr) return flat.view(parameter.sizes());
  const at::Tensor whole = at::empty({parameter.numel()}, flat.options());
  for (int part = 0; part < groups_.parts(); ++part) {
    const ElementRange range = layout.piece(member.place, part);
    if (range.size() == 0) continue;
    const at::Tensor place = part_of(whole, range);
    if (part == groups_.part()) place.copy_(flat);
    groups_.shard->broadcast({place}, part);
  }
  return whole.view(parameter.sizes());
}

}  // namespace accel::runtime
