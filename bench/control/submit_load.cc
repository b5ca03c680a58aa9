// Submits jobs to a coordinator from several clients at the same time, each of which waits for the
// answer to one submit before it sends the next.
//
//   submit_load ADDRESS CLIENTS JOBS NODES
//
// Each job is /bin/true on NODES nodes. Prints the jobs that were accepted per second.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bench/control/exit_on_error.h"
#include "cli/coordinator_client.h"
#include "common/clock.h"
#include "common/random_hex.h"

namespace {

using accel::bench::Check;
using accel::cli::CoordinatorClient;

accel::v1::SubmitJobRequest Request(int nodes) {
  accel::v1::SubmitJobRequest request;
  request.mutable_spec()->add_argv("/bin/true");
  request.mutable_spec()->set_workdir("/");
  request.mutable_spec()->set_nodes(nodes);
  request.mutable_spec()->set_cpu(true);
  return request;
}

void SubmitAll(CoordinatorClient* client, const std::string& prefix, int jobs, int nodes) {
  accel::v1::SubmitJobRequest request = Request(nodes);
  for (int i = 0; i < jobs; ++i) {
    request.set_submit_id(absl::StrCat(prefix, "-", i));
    const auto job = client->SubmitJob(request, absl::Seconds(30));
    Check(job.status());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const int clients = std::atoi(argv[2]);
  const int jobs = std::atoi(argv[3]) / clients;
  const auto run = accel::common::RandomHex();
  Check(run.status());
  std::vector<std::unique_ptr<CoordinatorClient>> connected;
  for (int i = 0; i < clients; ++i) {
    auto client = CoordinatorClient::Connect(argv[1]);
    Check(client.status());
    connected.push_back(*std::move(client));
    Check(connected.back()->ListNodes().status());
  }
  const absl::Time begin = accel::common::SteadyClock()->Now();
  std::vector<std::thread> threads;
  for (int i = 0; i < clients; ++i) {
    threads.emplace_back(SubmitAll, connected[static_cast<size_t>(i)].get(),
                         absl::StrCat(*run, "-", i), jobs, std::atoi(argv[4]));
  }
  for (std::thread& thread : threads) thread.join();
  const absl::Duration took = accel::common::SteadyClock()->Now() - begin;
  std::printf("%.1f\n", clients * jobs / absl::ToDoubleSeconds(took));
  return 0;
}
