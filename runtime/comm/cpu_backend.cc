#include "runtime/comm/cpu_backend.h"

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/shared_memory_backend.h"
#include "runtime/comm/shared_memory_join.h"
#include "runtime/comm/shared_memory_segment.h"

namespace accel::runtime {
namespace {

JoinStore join_store(const c10::intrusive_ptr<c10d::Store>& store) {
  return {.set =
              [store](const std::string& key, const std::string& value) {
                store->set(key, std::vector<std::uint8_t>(value.begin(), value.end()));
              },
          .get =
              [store](const std::string& key) {
                const std::vector<std::uint8_t> value = store->get(key);
                return std::string(value.begin(), value.end());
              }};
}

std::vector<int> ended_ranks(const SharedMemorySegment& segment) {
  std::vector<int> ended;
  for (int rank = 0; rank < segment.world_size(); ++rank) {
    if (!segment.is_alive(rank)) ended.push_back(rank);
  }
  return ended;
}

}  // namespace

CpuBackend make_cpu_backend(const c10::intrusive_ptr<c10d::Store>& store,
                            const Environment& environment, std::chrono::milliseconds timeout) {
  Joined joined = join_shared_memory({.rank = environment.rank,
                                      .world_size = environment.world_size,
                                      .enabled = environment.shared_memory},
                                     join_store(store));
  if (!joined.obstacle.empty()) {
    std::cerr << "accel: the ranks communicate over sockets, which is slower, because they cannot "
                 "share memory: "
              << joined.obstacle << std::endl;
  }
  const auto make_gloo = [=] { return make_gloo_backend(store, environment, timeout); };
  if (joined.segment == nullptr) return {make_gloo(), [] { return std::vector<int>(); }};
  const std::shared_ptr<SharedMemorySegment> segment = std::move(joined.segment);
  return {make_shared_memory_backend(segment, make_gloo, timeout),
          [segment] { return ended_ranks(*segment); }};
}

}  // namespace accel::runtime
