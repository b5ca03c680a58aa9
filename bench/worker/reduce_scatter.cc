// Times reduce-scatters of float tensors; the peer of bench/workers/reduce_scatter.py.
//
//   reduce_scatter MEGABYTES CALLS
//
// Every rank makes 3 calls to warm up and then CALLS more. Rank 0 prints the median time of a call
// in microseconds, and the bytes that crossed the loopback interface per call, of all ranks.
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/comm/communicator.h"
#include "runtime/process/read_environment.h"

namespace {

constexpr int kWarmUp = 3;

double sent_over_loopback() {
  double bytes = 0;
  std::ifstream("/sys/class/net/lo/statistics/tx_bytes") >> bytes;
  return bytes;
}

void run(double megabytes, int calls) {
  at::set_num_threads(1);
  const auto world = accel::runtime::Communicator::join(accel::runtime::read_environment(),
                                                        c10::kCPU, std::chrono::minutes(1));
  const auto share = static_cast<std::int64_t>(megabytes * 1e6 / 4 / world->size());
  const at::Tensor whole = at::full({share * world->size()}, world->rank() + 1, at::kFloat);
  const at::Tensor part = at::empty({share}, at::kFloat);
  std::vector<double> times;
  double sent = 0;
  for (int call = -kWarmUp; call < calls; ++call) {
    world->barrier();
    if (call == 0) sent = sent_over_loopback();
    const auto begin = std::chrono::steady_clock::now();
    world->reduce_scatter_sum(part, whole, "reduce_scatter");
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    if (call >= 0) times.push_back(took.count());
  }
  world->barrier();
  sent = sent_over_loopback() - sent;
  if (part[share - 1].item<double>() != world->size() * (world->size() + 1) / 2.0) {
    throw std::runtime_error("the sum is wrong");
  }
  if (world->rank() != 0) return;
  std::nth_element(times.begin(), times.begin() + calls / 2, times.end());
  std::printf("call %.1f us\nsent %.0f bytes\n", times[calls / 2], sent / calls);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "reduce_scatter MEGABYTES CALLS\n");
    return 2;
  }
  try {
    run(std::stod(argv[1]), std::stoi(argv[2]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "reduce_scatter: %s\n", error.what());
    return 1;
  }
}
