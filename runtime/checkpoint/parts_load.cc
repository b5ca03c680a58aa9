#include "runtime/checkpoint/parts_load.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <set>
#include <utility>

#include "accel/errors.h"
#include "runtime/checkpoint/parallel_io.h"
#include "runtime/checkpoint/tensor_file.h"

namespace accel::runtime {
namespace fs = std::filesystem;
namespace {

// Returns the first names, and how many more there are.
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < 5; ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > 5 ? text + " and " + std::to_string(names.size() - 5) + " more" : text;
}

}  // namespace

PartsLoad::PartsLoad(weights::SavedFolder saved, std::vector<PartTarget> targets,
                     const std::string& what, bool strict)
    : saved_(std::move(saved)) {
  const auto& tensors = saved_.saved().tensors;
  std::set<std::string> wanted;
  std::vector<std::string> missing, unexpected;
  for (PartTarget& target : targets) {
    wanted.insert(target.names.begin(), target.names.end());
    const auto name = std::ranges::find_if(
        target.names, [&](const std::string& each) { return tensors.contains(each); });
    if (name == target.names.end()) {
      if (strict || target.is_required) missing.push_back(target.names.front());
      continue;
    }
    const weights::Shape& shape = tensors.at(*name).shape;
    if (shape != target.shape) {
      throw CheckpointError(what + ": " + *name + " has shape " + weights::text_of(shape) +
                            " there and " + weights::text_of(target.shape) + " in this program");
    }
    std::string found = *name;
    reads_.push_back({std::move(found), std::move(target)});
  }
  for (const auto& [name, tensor] : tensors) {
    if (strict && !wanted.contains(name)) unexpected.push_back(name);
  }
  if (missing.empty() && unexpected.empty()) return;
  throw CheckpointError(what + ": it is of another model" +
                        (missing.empty() ? "" : "; it lacks " + listed(missing)) +
                        (unexpected.empty() ? "" : "; it also has " + listed(unexpected)));
}

// The boxes of a range follow one another in the memory.
void PartsLoad::read(const Read& one) const {
  const at::NoGradGuard no_graph;
  const weights::SavedTensor& tensor = saved_.saved().tensors.at(one.name);
  const auto& [names, shape, held, memory, is_required] = one.target;
  const bool is_direct =
      memory.is_cpu() && memory.is_contiguous() && memory.scalar_type() == type_of(tensor.dtype);
  const at::Tensor to = is_direct ? memory : at::empty({held.size()}, type_of(tensor.dtype));
  char* next = static_cast<char*>(to.mutable_data_ptr());
  for (const weights::Box& box : weights::boxes_of_range(
           shape, static_cast<std::uint64_t>(held.begin), static_cast<std::uint64_t>(held.end))) {
    saved_.read(weights::reads_for(tensor, box), next);
    next += weights::elements(box) * weights::element_size(tensor.dtype);
  }
  if (is_direct) return;
  const c10::OptionalDeviceGuard on(memory.device());  // A thread starts on GPU 0.
  at::Tensor(memory).copy_(to.view(memory.sizes()));
}

void PartsLoad::run() const {
  in_parallel(reads_.size(), [&](std::size_t i) { read(reads_[i]); });
}

}  // namespace accel::runtime
