// The shared-memory backend and Gloo, side by side in the ranks of a test.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "runtime/comm/cpu_backend.h"
#include "runtime/process/read_environment.h"

namespace accel::runtime {

inline constexpr std::chrono::milliseconds kTimeout(30000);

// Both kinds of backend over one store. Each has a separate prefix, because the shared-memory
// backend makes a Gloo backend as well. Two Gloo backends that found each other's addresses
// would wait forever.
struct Backends {
  Backends() {
    environment = read_environment();
    c10d::TCPStoreOptions options;
    options.port = environment.master_port;
    store = c10::make_intrusive<c10d::TCPStore>(environment.master_addr, options);
    shared = make_cpu_backend(keys("shared"), environment, kTimeout).backend;
    EXPECT_EQ(shared->getBackendName(), "shared_memory");
    gloo = make_gloo_backend(keys("gloo"), environment, kTimeout);
  }
  int rank() const { return environment.rank; }
  int size() const { return environment.world_size; }
  c10::intrusive_ptr<c10d::Store> keys(const std::string& prefix) const {
    return c10::make_intrusive<c10d::PrefixStore>(prefix, store);
  }

  Environment environment;
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<c10d::Backend> shared, gloo;
};

}  // namespace accel::runtime
