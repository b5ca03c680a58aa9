#include "runtime/parallel/make_sharded.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/core/mesh.h"
#include "runtime/core/sharding/sharding_options.h"
#include "runtime/parallel/sharded_model.h"

namespace accel::runtime {

void expect_supported(const torch::nn::Module& module, const ShardingOptions& options) {
  const auto is_elsewhere = [](const at::Tensor& tensor) { return !tensor.is_cpu(); };
  const std::pair<bool, const char*> unsupported[] = {
      {options.offload_params && std::ranges::any_of(module.parameters(), is_elsewhere),
       "offload_params on a GPU"},
      {options.activation_checkpointing_offload, "activation_checkpointing_offload"}};
  for (const auto& [is_set, name] : unsupported) {
    if (!is_set) continue;
    throw std::invalid_argument(std::string("sharding.") + name +
                                " is not supported yet: leave it unset");
  }
}

std::shared_ptr<ParallelStrategy> make_sharded(std::shared_ptr<torch::nn::Module> module,
                                               const std::shared_ptr<Communicator>& world,
                                               const ShardingOptions& options, int local_size) {
  ShardingGroups groups{.world = world, .shard = world, .replicate = nullptr};
  if (options.is_hybrid()) {
    const int size = shard_group_size(options, world->size(), local_size);
    const Mesh mesh = make_mesh(world->size(), size, world->rank());
    if (mesh.replicate > 1) {
      groups.shard = world->split(mesh.rank / mesh.shard);
      groups.replicate = world->split(mesh.rank % mesh.shard);
    }
  }
  return std::make_shared<ShardedModel>(std::move(module), std::move(groups), options);
}

}  // namespace accel::runtime
