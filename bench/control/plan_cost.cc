// Measures what the planner costs in a large cluster.
//
//   plan_cost NODES QUEUED
//
// A cluster has NODES nodes with one GPU each. Prints four times in microseconds, each the median
// of 200:
//
//   to place a job of one process on CPUs, while nothing waits
//   to queue a job that needs a GPU, with QUEUED such jobs before it and every GPU taken
//   to take a report of a node that changes nothing for these jobs
//   to end a job on a GPU and place the first of the queue on it

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/control/exit_on_error.h"
#include "common/clock.h"
#include "coordinator/core/observe.h"
#include "coordinator/core/planner.h"
#include "coordinator/core/requests.h"

namespace accel::bench {
namespace {

constexpr int kRuns = 200;

class Cluster {
 public:
  Cluster(int nodes, int queued) : reports_(static_cast<size_t>(nodes)) {
    state_.limits.max_nodes = nodes;
    state_.limits.max_unfinished_jobs = nodes + queued + 10 * kRuns;
    state_.limits.generations_per_node = 10'000;
    for (size_t node = 0; node < reports_.size(); ++node) Connect(node);
    Plan();
  }

  void Submit(bool cpu) {
    v1::JobSpec spec;
    spec.add_argv("/bin/true");
    spec.set_workdir("/");
    spec.set_nodes(1);
    spec.add_processes_per_node(1);
    spec.set_cpu(cpu);
    Check(
        SubmitJob(absl::StrCat("submit-", ++submits_), std::move(spec), now_, &state_, &changes_));
    Plan();
  }

  // Reports the generations that the coordinator asks of the node as running or, if `ended`, as
  // ended.
  void Report(size_t node, bool ended) {
    v1::NodeObserved& report = reports_[node];
    report.set_sequence(report.sequence() + 1);
    report.set_applied_version(state_.revision);
    report.clear_generations();
    for (const auto& [id, machine_rank] : state_.nodes.at(Id(node)).jobs) {
      const v1::Job& job = state_.jobs.at(id).job;
      v1::ObservedGeneration* part = report.add_generations();
      part->set_job_id(id.value());
      part->set_generation(coordinator::CurrentGeneration(job)->generation());
      part->set_state(ended ? v1::ObservedGeneration::ENDED : v1::ObservedGeneration::RUNNING);
      v1::ObservedWorker* worker = part->add_workers();
      worker->set_pid(1);
      if (ended) worker->mutable_exit()->set_kind(v1::ExitRecord::EXITED);
    }
    coordinator::SessionId superseded = 0;
    Check(Observe(node + 1, report, now_, &state_, &changes_, &superseded));
    Plan();
  }

  size_t nodes() const { return reports_.size(); }

 private:
  static common::NodeId Id(size_t node) { return common::NodeId(absl::StrCat("node-", node)); }

  void Connect(size_t node) {
    v1::NodeObserved& report = reports_[node];
    report.set_node_id(Id(node).value());
    report.set_name(Id(node).value());
    report.set_incarnation("1");
    report.set_boot_id("1");
    report.set_address("10.0.0.1");
    report.mutable_inventory()->set_cpus(8);
    report.mutable_inventory()->add_gpus()->set_index(0);
    coordinator::SessionId superseded = 0;
    report.set_sequence(1);
    Check(Observe(node + 1, report, now_, &state_, &changes_, &superseded));
  }

  void Plan() {
    PlanToRest(now_, now_, &state_, &changes_);
    changes_ = {};
  }

  const absl::Time now_ = absl::Now();
  coordinator::ClusterState state_;
  coordinator::Changes changes_;
  std::vector<v1::NodeObserved> reports_;
  int submits_ = 0;
};

// Returns the median of the times that `act` takes, in microseconds.
double Median(const std::function<void(size_t)>& act) {
  std::vector<double> times;
  for (size_t i = 0; i < kRuns; ++i) {
    const absl::Time begin = common::SteadyClock()->Now();
    act(i);
    times.push_back(absl::ToDoubleMicroseconds(common::SteadyClock()->Now() - begin));
  }
  std::nth_element(times.begin(), times.begin() + kRuns / 2, times.end());
  return times[kRuns / 2];
}

void Measure(int nodes, int queued) {
  Cluster cluster(nodes, queued);
  const double place = Median([&](size_t) { cluster.Submit(/*cpu=*/true); });
  for (size_t i = 0; i < cluster.nodes(); ++i) cluster.Submit(/*cpu=*/false);
  for (size_t i = 0; i < cluster.nodes(); ++i) cluster.Report(i, /*ended=*/false);
  for (int i = 0; i < queued; ++i) cluster.Submit(/*cpu=*/false);
  const double queue = Median([&](size_t) { cluster.Submit(/*cpu=*/false); });
  const double report = Median([&](size_t i) { cluster.Report(i, /*ended=*/false); });
  const double end = Median([&](size_t i) {
    cluster.Report(i, /*ended=*/true);
    cluster.Report(i, /*ended=*/false);
  });
  std::printf("%.1f %.1f %.1f %.1f\n", place, queue, report, end);
}

}  // namespace
}  // namespace accel::bench

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  accel::bench::Measure(std::atoi(argv[1]), std::atoi(argv[2]));
  return 0;
}
