// What the clients do. They are LibTorch's own.
#pragma once

#include <cstdint>
#include <string>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <vector>

namespace accel::bench {

using Clients = std::vector<c10::intrusive_ptr<c10d::TCPStore>>;

// `count` clients of the server at 127.0.0.1:`port`, connected.
Clients Connect(uint16_t port, int count);

// Each client, on a thread of its own, sets and gets 100 bytes of a key of its own, `rounds` times.
// Seconds from the common start to the end of the last one. `cpu`: where the threads run; anywhere,
// if negative.
double SetAndGet(const Clients& clients, int rounds, int cpu);

// Every waiter, on a thread of its own, waits for `key`; then the setter sets it. Milliseconds from
// before the set until the last waiter is back.
double WakeAll(const Clients& waiters, c10d::TCPStore* setter, const std::string& key);

}  // namespace accel::bench
