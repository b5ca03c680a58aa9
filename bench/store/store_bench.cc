// Compares accel's store server with PyTorch's own TCPStore server. Each runs in a separate
// process; the clients, LibTorch's C++ ones, run in this process. The servers are measured in
// pairs, and the one that goes first alternates.
//
//   store_bench [--pairs N] [--json FILE]
//
// Prints every raw row, then medians and the ratio ours / torch. Takes about 4 s per pair and
// needs two CPUs.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/store/server_process.h"
#include "bench/store/workload.h"

namespace accel::bench {
namespace {

constexpr int kManyClients = 64;
constexpr int kRoundsOfOne = 5000;
constexpr int kRoundsOfMany = 400;
constexpr int kWakes = 20;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// One server and its clients.
struct Side {
  Side(const std::string& label, const std::filesystem::path& program)
      : name(label),
        server(program.string()),
        idle_kib(server.ResidentKiB()),
        one(Connect(server.port(), 1)),
        many(Connect(server.port(), kManyClients)) {}

  std::string name;
  ServerProcess server;
  int64_t idle_kib;
  Clients one, many;
  int keys_woken = 0;
};

// The measured values by metric and then by side, one value for each pair.
class Results {
 public:
  void Add(const std::string& metric, const std::string& side, double value) {
    if (values_.find(metric) == values_.end()) order_.push_back(metric);
    values_[metric][side].push_back(value);
    std::printf("raw  %-32s %-6s %12.3f\n", metric.c_str(), side.c_str(), value);
    std::fflush(stdout);
  }

  void PrintMedians() const {
    std::printf("\n%-32s %12s %12s %12s\n", "median of", "ours", "torch", "ours/torch");
    for (const std::string& metric : order_) {
      const auto [ours, torch] = Medians(metric);
      std::printf("%-32s %12.3f %12.3f %12.3f\n", metric.c_str(), ours, torch, ours / torch);
    }
  }

  void WriteJson(std::ostream& out) const {
    out << "{\"benchmark\": \"store\", \"peer\": \"torch 2.11 TCPStore, libuv\", \"metrics\": [";
    for (size_t i = 0; i < order_.size(); ++i) {
      const auto [ours, torch] = Medians(order_[i]);
      out << (i > 0 ? "," : "") << "\n  {\"metric\": \"" << order_[i] << "\"";
      for (const auto& [side, values] : values_.at(order_[i])) {
        out << ", \"" << side << "\": [";
        for (size_t j = 0; j < values.size(); ++j) out << (j > 0 ? ", " : "") << values[j];
        out << "]";
      }
      out << ", \"median_ours\": " << ours << ", \"median_torch\": " << torch
          << ", \"ratio\": " << ours / torch << "}";
    }
    out << "\n]}\n";
  }

 private:
  std::pair<double, double> Medians(const std::string& metric) const {
    const auto& sides = values_.at(metric);
    return {Median(sides.at("ours")), Median(sides.at("torch"))};
  }

  std::vector<std::string> order_;
  std::map<std::string, std::map<std::string, std::vector<double>>> values_;
};

void MeasureSetAndGet(const std::string& what, Side* side, const Clients& clients, int rounds,
                      int server_cpu, int client_cpu, Results* results) {
  side->server.Pin(server_cpu);
  SetAndGet(clients, rounds / 10 + 1, client_cpu);  // Warm-up.
  const double cpu_before = side->server.CpuSeconds();
  const double seconds = SetAndGet(clients, rounds, client_cpu);
  const double cpu = side->server.CpuSeconds() - cpu_before;
  side->server.Pin(-1);
  const double ops = 2.0 * rounds * static_cast<double>(clients.size());
  results->Add(what + "_ops_per_s", side->name, ops / seconds);
  results->Add(what + "_cpu_us_per_op", side->name, 1e6 * cpu / ops);
}

void MeasureWakes(Side* side, Results* results) {
  std::vector<double> milliseconds;
  for (int i = 0; i < kWakes; ++i) {
    const std::string key = "wake/" + std::to_string(side->keys_woken++);
    milliseconds.push_back(WakeAll(side->many, side->one.front().get(), key));
  }
  results->Add("wake_64_ms", side->name, Median(milliseconds));
}

void MeasureAll(Side* side, Results* results) {
  // Both placements are measured, because the scheduler puts one client and its server sometimes on
  // one CPU and sometimes on two, and that alone decides the rate.
  MeasureSetAndGet("set_get_1_two_cpus", side, side->one, kRoundsOfOne, 0, 1, results);
  MeasureSetAndGet("set_get_1_one_cpu", side, side->one, kRoundsOfOne, 0, 0, results);
  MeasureSetAndGet("set_get_64", side, side->many, kRoundsOfMany, -1, -1, results);
  MeasureWakes(side, results);
}

int Main(int argc, char** argv) {
  int pairs = 10;
  std::string json;
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 < argc && std::strcmp(argv[i], "--pairs") == 0 && std::atoi(argv[i + 1]) > 0) {
      pairs = std::atoi(argv[i + 1]);
    } else if (i + 1 < argc && std::strcmp(argv[i], "--json") == 0) {
      json = argv[i + 1];
    } else {
      std::fprintf(stderr, "usage: store_bench [--pairs N] [--json FILE]\n");
      return 2;
    }
  }
  // Each client looks up the name of its peer's address, for its log lines. Without a name service
  // that must not take long.
  setenv("RES_OPTIONS", "timeout:1 attempts:1", 1);
  // Bazel puts every program into the folder of its package, below one root.
  const auto root = std::filesystem::canonical("/proc/self/exe").parent_path() / "../..";
  Side ours("ours", root / "rendezvous/store_server");
  Side torch("torch", root / "bench/store/torch_server");
  Results results;
  results.Add("idle_rss_kib", ours.name, static_cast<double>(ours.idle_kib));
  results.Add("idle_rss_kib", torch.name, static_cast<double>(torch.idle_kib));
  for (int pair = 0; pair < pairs; ++pair) {
    MeasureAll(pair % 2 == 0 ? &ours : &torch, &results);
    MeasureAll(pair % 2 == 0 ? &torch : &ours, &results);
  }
  results.PrintMedians();
  if (json.empty()) return 0;
  std::ofstream file(json);
  results.WriteJson(file);
  file.close();
  if (!file) std::fprintf(stderr, "cannot write %s\n", json.c_str());
  return file ? 0 : 1;
}

}  // namespace
}  // namespace accel::bench

int main(int argc, char** argv) { return accel::bench::Main(argc, argv); }
