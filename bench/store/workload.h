// The workload of the benchmark's clients, which are LibTorch's own.
#pragma once

#include <cstdint>
#include <string>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <vector>

namespace accel::bench {

using Clients = std::vector<c10::intrusive_ptr<c10d::TCPStore>>;

// Connects `count` clients to the server at 127.0.0.1:`port`.
Clients Connect(uint16_t port, int count);

// Every client, each in a separate thread, sets and gets 100 bytes under its own key `rounds`
// times. Returns the seconds from the common start to the end of the last client. The threads run
// on `cpu`, or on any CPU if it is negative.
double SetAndGet(const Clients& clients, int rounds, int cpu);

// Every waiter, each in a separate thread, waits for `key`, and then the setter sets it. Returns
// the milliseconds from just before the set until the last waiter has returned.
double WakeAll(const Clients& waiters, c10d::TCPStore* setter, const std::string& key);

}  // namespace accel::bench
