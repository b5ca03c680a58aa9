#include "runtime/parallel/reported_units.h"

#include <cstdint>

namespace accel::runtime {
namespace {

ReportedUnit reported(const ShardedUnit& unit) {
  ReportedUnit to{.name = unit.name()};
  to.bytes = unit.bytes(/*only_trained=*/false);
  to.trainable_bytes = unit.bytes(/*only_trained=*/true);
  to.copied_bytes = unit.copied_bytes();
  for (std::size_t i = 0; i < unit.size(); ++i) {
    const at::Tensor& parameter = unit.parameter(i).tensor;
    to.elements += parameter.numel();
    if (parameter.requires_grad()) to.trainable_elements += parameter.numel();
  }
  return to;
}

ReportedUnit reported(const std::vector<UnitParameter>& parameters) {
  ReportedUnit to;
  for (const UnitParameter& one : parameters) {
    const std::int64_t elements = one.tensor.numel();
    const auto bytes = elements * static_cast<std::int64_t>(one.tensor.element_size());
    to.elements += elements;
    to.bytes += bytes;
    if (!one.tensor.requires_grad()) continue;
    to.trainable_elements += elements;
    to.trainable_bytes += bytes;
  }
  return to;
}

}  // namespace

ShardingOutline outline_of(const ShardingOptions& options, const ShardingGroups& groups,
                           const std::vector<std::unique_ptr<ShardedUnit>>& units,
                           const std::vector<UnitParameter>& ignored) {
  ShardingOutline outline{.units = {},
                          .strategy = options.strategy,
                          .shard_ranks = groups.parts(),
                          .replicas = groups.world->size() / groups.parts(),
                          .ignored = reported(ignored),
                          .prefetches = options.forward_prefetch ||
                                        options.backward_prefetch != BackwardPrefetch::kNone,
                          .offloads = options.offload_params};
  for (const auto& unit : units) outline.units.push_back(reported(*unit));
  if (!outline.units.empty()) outline.units.front().name = "";
  return outline;
}

}  // namespace accel::runtime
