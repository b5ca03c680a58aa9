#include "cli/machines/serve_launch.h"

#include <poll.h>
#include <string.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/coordinated_job.h"
#include "cli/local_link.h"
#include "cli/machines/await_machines.h"
#include "cli/machines/core/terms.h"
#include "cli/machines/machine.h"
#include "cli/machines/own_command_link.h"
#include "cli/machines/run_server.h"
#include "cli/machines/run_trust.h"
#include "common/check.h"
#include "common/exit_text.h"
#include "common/job_phase.h"
#include "common/random_hex.h"
#include "common/status_macros.h"
#include "coordinator/coordinator_loop.h"
#include "coordinator/store/memory_store.h"

namespace accel::cli {
namespace {

constexpr char kOwnNodeId[] = "serves";

// Time in which the other machines receive the end of the run.
constexpr int kFarewellMillis = 5'000;

coordinator::Limits OfRun(int machines) {
  coordinator::Limits limits;
  limits.fixed_nodes = machines;
  return limits;
}

// Returns why the run cannot continue after a change of the job. Empty if it can. A node that is
// lost does not come back, because its launch has ended with it.
std::string WhyLost(const v1::Job& job) {
  if (job.generations().empty() || common::IsFinal(job.phase())) return "";
  const v1::GenerationRecord& newest = *job.generations().rbegin();
  const v1::FailureCause& cause = job.has_cause() ? job.cause() : newest.cause();
  if (!common::IsOfNode(cause.exit())) return "";
  return common::DescribeFailure(cause);
}

// The job, as seen by the machine that serves: changes of the job, signals on other machines, and
// machines that go.
class ServedJob final : public LaunchedJob {
 public:
  // The arguments must outlive the job, and `hub` the coordinator's thread too.
  ServedJob(coordinator::Coordinator* coordinator, common::JobId id, RunHub* hub,
            const Console& console)
      : hub_(*hub),
        console_(console),
        job_(coordinator, std::move(id), [hub](const v1::Job& job) { hub->SetJob(job); }) {}

  int wake_fd() const override { return hub_.wake().get(); }

  absl::StatusOr<coordinator::JobPtr> Get() override {
    hub_.wake().Clear();
    ACCEL_ASSIGN_OR_RETURN(coordinator::JobPtr job, job_.Get());
    if (job != nullptr && common::IsFinal(job->phase())) return job;
    for (const RunHub::Interrupt& interrupt : hub_.TakeInterrupts()) {
      PrintMessage(console_,
                   absl::StrCat("machine ", interrupt.host, ": ", strsignal(interrupt.signal), ": ",
                                interrupt.at_once ? "killing the workers" : "ending the workers"));
      End(interrupt.host, interrupt.signal);
      job_.Cancel(interrupt.signal, interrupt.at_once);
    }
    std::string why = hub_.gone();
    if (why.empty() && job != nullptr) why = WhyLost(*job);
    if (why.empty()) return job;
    hub_.End(why, /*signal=*/0);
    return absl::AbortedError(why);
  }

  void Cancel(int signal, bool at_once) override {
    End(hub_.own().node_name, signal);
    job_.Cancel(signal, at_once);
  }

  int signal() const override { return signal_; }

 private:
  void End(const std::string& host, int signal) {
    if (signal_ == 0) signal_ = signal;
    hub_.End(absl::StrCat("machine ", host, ": ", strsignal(signal), ": ending the workers"),
             signal);
  }

  RunHub& hub_;
  const Console& console_;
  CoordinatedJob job_;
  int signal_ = 0;
};

// Waits until the other machines have received the end of the run.
void AwaitFarewell(RunHub* hub, int signals) {
  const absl::Time deadline = absl::Now() + absl::Milliseconds(kFarewellMillis);
  while (hub->others() > 0) {
    hub->wake().Clear();
    const int64_t left = absl::ToInt64Milliseconds(deadline - absl::Now());
    pollfd fds[] = {{hub->wake().get(), POLLIN, 0}, {signals, POLLIN, 0}};
    if (hub->others() == 0 || left <= 0) return;
    if (poll(fds, 2, static_cast<int>(left)) > 0 && fds[1].revents != 0) return;
  }
}

// Everything that serves the run. Destroyed in an order in which no part calls one that is gone.
class Serving {
 public:
  static absl::StatusOr<std::unique_ptr<Serving>> Start(const MachinesLaunch& launch, Part part,
                                                        const std::string& secret) {
    auto serving = std::make_unique<Serving>(launch.place.machines);
    ACCEL_ASSIGN_OR_RETURN(const std::string run_id, common::RandomHex());
    ACCEL_ASSIGN_OR_RETURN(
        serving->hub, RunHub::Make(run_id, launch.place.machines, DescribeMachine(launch, part)));
    ACCEL_ASSIGN_OR_RETURN(const auto authority, AuthorityOf(launch.place, secret));
    ACCEL_ASSIGN_OR_RETURN(auto tls, MakeServerTls(authority, absl::Now()));
    ACCEL_ASSIGN_OR_RETURN(serving->server,
                           RunServer::Start(*std::move(part.listener), std::move(tls),
                                            serving->hub.get(), &serving->loop));
    return serving;
  }

  explicit Serving(int machines) : loop({.store = &store, .limits = OfRun(machines)}) {
    ACCEL_CHECK(loop.Load().ok(),
                "a memory store that is new holds nothing that could be unreadable");
    loop.Start();
  }
  // The agent ends first, while the coordinator can take its reports. The loop ends the streams of
  // the other agents, so that the server can shut down.
  ~Serving() {
    agent.reset();
    loop.Stop();
    server.reset();
  }

  coordinator::MemoryStore store;
  std::unique_ptr<RunHub> hub;
  coordinator::CoordinatorLoop loop;
  std::unique_ptr<RunServer> server;
  std::unique_ptr<LocalAgent> agent;
};

absl::Status StartAgent(const MachinesLaunch& launch, const std::string& address,
                        const Workplace& workplace, Serving* serving) {
  const Gathering::Member own = serving->hub->own();
  ACCEL_ASSIGN_OR_RETURN(
      v1::NodeObserved identity,
      MachineIdentity(kOwnNodeId, own.node_name, own.placement_order, address, !launch.plan.cpu));
  serving->agent = std::make_unique<LocalAgent>(
      workplace.AgentOptions(launch.plan.cpu, launch.place.ports), std::move(identity),
      std::make_unique<OwnCommandLink>(std::make_unique<LocalLink>(&serving->loop), launch.spec));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> ServeLaunch(const MachinesLaunch& launch, Part part, const std::string& secret,
                                const Workplace& workplace, const Console& console) {
  const std::string address = part.address;
  ACCEL_ASSIGN_OR_RETURN(const std::unique_ptr<Serving> serving,
                         Serving::Start(launch, std::move(part), secret));
  RunHub* const hub = serving->hub.get();
  const absl::StatusOr<int> signal =
      AwaitMachines({.wake_fd = hub->wake().get(),
                     .is_here = [hub]() -> absl::StatusOr<bool> {
                       hub->wake().Clear();
                       return hub->complete();
                     },
                     .progress = [hub] { return hub->Progress(); }},
                    workplace.signals.get(), launch.place.timeout, console);
  if (!signal.ok() || *signal != 0) {
    hub->End(signal.ok() ? absl::StrCat("machine ", hub->own().node_name, ": ", strsignal(*signal))
                         : std::string(signal.status().message()),
             signal.ok() ? *signal : 0);
    AwaitFarewell(hub, workplace.signals.get());
    return signal.ok() ? absl::StatusOr<int>(128 + *signal) : signal;
  }
  ACCEL_RETURN_IF_ERROR(StartAgent(launch, address, workplace, serving.get()));
  const std::vector<int> processes =
      launch.counts_itself ? hub->Processes() : launch.plan.processes;
  ACCEL_ASSIGN_OR_RETURN(
      const common::JobId id,
      SubmitLaunch(&serving->loop, SharedSpec(launch.spec, launch.place.machines, processes)));
  ServedJob job(&serving->loop, id, hub, console);
  const auto code = FollowOnMachine(&job, id.value(), kOwnNodeId, launch, workplace, console, [&] {
    AwaitFarewell(hub, workplace.signals.get());
    serving->agent.reset();
  });
  if (!code.ok()) AwaitFarewell(hub, workplace.signals.get());
  return code;
}

}  // namespace accel::cli
