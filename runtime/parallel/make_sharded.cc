#include "runtime/parallel/make_sharded.h"

#include <utility>

#include "runtime/core/mesh.h"
#include "runtime/core/sharding/sharding_options.h"
#include "runtime/parallel/sharded_model.h"

namespace accel::runtime {

std::shared_ptr<ParallelStrategy> make_sharded(std::shared_ptr<torch::nn::Module> module,
                                               const std::shared_ptr<Communicator>& world,
                                               const ShardingOptions& options, int local_size,
                                               RecordedTensors recorded) {
  ShardingGroups groups{.world = world, .shard = world, .replicate = nullptr};
  if (options.is_hybrid()) {
    const int size = shard_group_size(options, world->size(), local_size);
    const Mesh mesh = make_mesh(world->size(), size, world->rank());
    if (mesh.replicate > 1) {
      groups.shard = world->split(mesh.rank / mesh.shard);
      groups.replicate = world->split(mesh.rank % mesh.shard);
    }
  }
  return std::make_shared<ShardedModel>(std::move(module), std::move(groups), options,
                                        std::move(recorded));
}

}  // namespace accel::runtime
