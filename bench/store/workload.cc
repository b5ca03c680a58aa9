#include "bench/store/workload.h"

#include <sched.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <mutex>
#include <thread>

#include "common/check.h"

namespace accel::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kValueBytes = 100;
// Time for the last waiter's request to reach the server.
constexpr auto kSettle = std::chrono::milliseconds(20);

void PinThisThread(int cpu) {
  if (cpu < 0) return;
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  ACCEL_CHECK(sched_setaffinity(0, sizeof(cpus), &cpus) == 0, "no such CPU");
}

}  // namespace

Clients Connect(uint16_t port, int count) {
  Clients clients;
  for (int i = 0; i < count; ++i) {
    c10d::TCPStoreOptions options;
    options.port = port;
    options.isServer = false;
    options.waitWorkers = false;
    options.timeout = std::chrono::seconds(60);
    clients.push_back(c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options));
  }
  return clients;
}

double SetAndGet(const Clients& clients, int rounds, int cpu) {
  const std::vector<uint8_t> value(kValueBytes, 'v');
  Clock::time_point start;
  std::barrier begin(static_cast<std::ptrdiff_t>(clients.size()),
                     [&start]() noexcept { start = Clock::now(); });
  std::vector<std::thread> threads;
  for (size_t i = 0; i < clients.size(); ++i) {
    threads.emplace_back([&, i] {
      PinThisThread(cpu);
      const std::string key = "set_and_get/" + std::to_string(i);
      begin.arrive_and_wait();
      for (int round = 0; round < rounds; ++round) {
        clients[i]->set(key, value);
        ACCEL_CHECK(clients[i]->get(key).size() == kValueBytes, "a wrong value came back");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double WakeAll(const Clients& waiters, c10d::TCPStore* setter, const std::string& key) {
  std::mutex mutex;
  Clock::time_point last;
  std::barrier begin(static_cast<std::ptrdiff_t>(waiters.size() + 1));
  std::vector<std::thread> threads;
  for (const auto& waiter : waiters) {
    threads.emplace_back([&] {
      begin.arrive_and_wait();
      waiter->wait({key});
      const Clock::time_point woken = Clock::now();
      const std::lock_guard<std::mutex> lock(mutex);
      last = std::max(last, woken);
    });
  }
  begin.arrive_and_wait();
  std::this_thread::sleep_for(kSettle);
  const Clock::time_point start = Clock::now();
  setter->set(key, std::vector<uint8_t>{'1'});
  for (std::thread& thread : threads) thread.join();
  return std::chrono::duration<double, std::milli>(last - start).count();
}

}  // namespace accel::bench
