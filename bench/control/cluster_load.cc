// Measures a coordinator that has many agents.
//
//   cluster_load ADDRESS PID AGENTS JOBS NODES SECONDS
//
// Connects AGENTS simulated agents, or none if there are real ones, whose jobs are cancelled in the
// end. Submits JOBS jobs of NODES nodes each, waits until all of them are RUNNING, and then does
// nothing for SECONDS. PID is the coordinator's process. Prints, in one line:
//
//   the seconds from the first submit until every worker had started, and the coordinator's CPU
//   seconds meanwhile; the cores that it used in the SECONDS that followed; the bytes by which its
//   resident memory has grown since the start; and the wall-clock time of the first submit, in
//   seconds since 1970

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "bench/control/agent_processes.h"
#include "bench/control/exit_on_error.h"
#include "cli/coordinator_client.h"
#include "common/clock.h"
#include "common/descriptors.h"
#include "common/priority.h"
#include "common/random_hex.h"

namespace accel::bench {
namespace {

using cli::CoordinatorClient;

// Another process, as /proc/PID/stat shows it.
class Process {
 public:
  explicit Process(const std::string& pid) : path_(absl::StrCat("/proc/", pid, "/stat")) {}

  double CpuSeconds() const {
    const double ticks = std::atof(Field(14).c_str()) + std::atof(Field(15).c_str());
    return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  }

  double ResidentBytes() const {
    return std::atof(Field(24).c_str()) * static_cast<double>(sysconf(_SC_PAGESIZE));
  }

 private:
  // Returns a field, which proc(5) counts from 1. The name of a program contains no space here.
  std::string Field(size_t number) const {
    std::ifstream stat(path_);
    std::string line;
    std::getline(stat, line);
    const std::vector<std::string> fields = absl::StrSplit(line, ' ');
    if (fields.size() >= number) return fields[number - 1];
    Fail(absl::StrCat("cannot read ", path_));
  }

  const std::string path_;
};

v1::SubmitJobRequest Request(int nodes) {
  v1::SubmitJobRequest request;
  v1::JobSpec* spec = request.mutable_spec();
  spec->add_argv("/bin/sleep");
  spec->add_argv("1000");
  spec->set_workdir("/");
  spec->set_nodes(nodes);
  spec->add_processes_per_node(1);
  spec->set_cpu(true);
  v1::EnvVar* path = spec->add_env();
  path->set_name("PATH");
  path->set_value("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
  return request;
}

// Waits until every worker of the job has started. `job` must not fail.
void AwaitRunning(CoordinatorClient* client, const std::string& job) {
  v1::WatchJobRequest watch;
  watch.set_job_id(job);
  v1::JobPhase phase = v1::PENDING;
  const absl::Status watched = client->WatchJob(
      watch, [] {},
      [&phase](const v1::Job& version) {
        phase = version.phase();
        return phase == v1::PENDING || phase == v1::STARTING;
      });
  if (phase == v1::RUNNING) return;
  Fail(absl::StrCat("job ", job, " is ", v1::JobPhase_Name(phase), " (", watched.ToString(), ")"));
}

// Ends the job and waits until its processes have ended.
void End(CoordinatorClient* client, const std::string& job) {
  Check(client->CancelJob(job, /*at_once=*/true));
  v1::WatchJobRequest watch;
  watch.set_job_id(job);
  Check(client->WatchJob(
      watch, [] {}, [](const v1::Job&) { return true; }));
}

// Returns the ids of the jobs, which are all RUNNING.
std::vector<std::string> StartJobs(CoordinatorClient* client, int jobs, int nodes) {
  v1::SubmitJobRequest request = Request(nodes);
  const std::string run = Check(common::RandomHex());
  std::vector<std::string> ids;
  for (int i = 0; i < jobs; ++i) {
    request.set_submit_id(absl::StrCat(run, "-", i));
    ids.push_back(Check(client->SubmitJob(request, absl::Seconds(60))));
  }
  for (const std::string& id : ids) AwaitRunning(client, id);
  return ids;
}

void Measure(char** argv) {
  const std::string address = argv[1];
  const Process coordinator(argv[2]);
  const int agents = std::atoi(argv[3]);
  if (agents > 0) common::RaiseDaemonPriority();  // As real agents do.
  AgentProcesses simulated(agents);
  const absl::Duration steady = absl::Seconds(std::atoi(argv[6]));
  const auto client = Check(CoordinatorClient::Connect(address));
  client->AwaitConnection(absl::Seconds(10));
  const double bytes_before = coordinator.ResidentBytes();
  const absl::Time connecting = common::SteadyClock()->Now();
  simulated.Connect(address);
  const absl::Time begin = common::SteadyClock()->Now();
  std::fprintf(stderr, "cluster_load: %d agents connected in %.2f s\n", agents,
               absl::ToDoubleSeconds(begin - connecting));
  const double submitted = absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch());
  const double cpu_before = coordinator.CpuSeconds();
  const std::vector<std::string> jobs =
      StartJobs(client.get(), std::atoi(argv[4]), std::atoi(argv[5]));
  const absl::Duration started = common::SteadyClock()->Now() - begin;
  const double cpu_started = coordinator.CpuSeconds();
  std::fprintf(stderr, "cluster_load: all workers run\n");
  absl::SleepFor(steady);
  const double cores = steady == absl::ZeroDuration() ? 0
                                                      : (coordinator.CpuSeconds() - cpu_started) /
                                                            absl::ToDoubleSeconds(steady);
  std::printf("%.6f %.6f %.6f %.0f %.6f\n", absl::ToDoubleSeconds(started),
              cpu_started - cpu_before, cores, coordinator.ResidentBytes() - bytes_before,
              submitted);
  if (agents > 0) return;
  for (const std::string& job : jobs) End(client.get(), job);
}

}  // namespace
}  // namespace accel::bench

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  accel::common::RaiseDescriptorLimit();
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  accel::bench::Measure(argv);
  std::fflush(stdout);
  _exit(0);  // Closing thousands of streams one by one takes longer than what was measured.
}
