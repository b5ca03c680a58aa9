#include "cli/machines/join_launch.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/grpc_link.h"
#include "cli/machines/await_machines.h"
#include "cli/machines/core/gathering.h"
#include "cli/machines/machine.h"
#include "cli/machines/own_command_link.h"
#include "cli/machines/run_client.h"
#include "cli/machines/run_trust.h"
#include "cli/render/escape.h"
#include "common/job_phase.h"
#include "common/random_hex.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

// The job, as the machine that serves reports it.
class JoinedJob final : public LaunchedJob {
 public:
  JoinedJob(RunClient* client, const Console& console) : client_(*client), console_(console) {}

  int wake_fd() const override { return client_.wake().get(); }

  absl::StatusOr<coordinator::JobPtr> Get() override {
    client_.wake().Clear();
    // Read in this order, because the last news arrive before the end.
    const absl::Status ended = client_.ended();
    const std::optional<v1::RunNews> news = client_.news();
    if (news.has_value() && news->has_job()) {
      if (job_ == nullptr || job_->version() != news->job().version()) {
        job_ = std::make_shared<v1::Job>(news->job());
      }
      if (common::IsFinal(job_->phase())) {
        if (signal_ == 0) signal_ = news->signal();
        return job_;
      }
    }
    if (news.has_value() && !news->ended_by().empty()) {
      if (news->signal() == 0) return absl::AbortedError(news->ended_by());
      if (signal_ == 0 && !sent_) PrintMessage(console_, news->ended_by());
      signal_ = news->signal();
    }
    if (!ended.ok()) return ended;
    return job_;
  }

  void Cancel(int signal, bool at_once) override {
    sent_ = true;
    client_.Signal(signal, at_once);
  }

  int signal() const override { return signal_; }

 private:
  RunClient& client_;
  const Console& console_;
  coordinator::JobPtr job_;
  int signal_ = 0;
  bool sent_ = false;
};

// Waits until `is_here` is true of the news. Returns the number of a signal that arrived before, or
// of the signal that has ended the run, or 0.
absl::StatusOr<int> AwaitNews(RunClient* client, const MachinesLaunch& launch,
                              const std::string& why_not, int signals,
                              const std::function<bool(const v1::RunNews&)>& is_here,
                              const Console& console) {
  int remote_signal = 0;
  const Awaited awaited = {
      .wake_fd = client->wake().get(),
      .is_here = [&]() -> absl::StatusOr<bool> {
        client->wake().Clear();
        const absl::Status ended = client->ended();
        const auto news = client->news();
        if (news.has_value() && !news->ended_by().empty()) {
          remote_signal = news->signal();
          if (remote_signal == 0) return absl::AbortedError(news->ended_by());
          PrintMessage(console, news->ended_by());
          return true;
        }
        if (news.has_value() && is_here(*news)) return true;
        if (absl::IsDeadlineExceeded(ended)) {
          return absl::DeadlineExceededError(
              absl::StrCat(ended.message(), "; this machine does not serve, because ", why_not));
        }
        if (!ended.ok()) return ended;
        return false;
      },
      .progress =
          [client, &launch, &why_not] {
            const auto news = client->news();
            if (!news.has_value()) {
              return absl::StrCat("no machine serves at ", launch.place.text(),
                                  " yet, and this one does not, because ", why_not);
            }
            if (news->present().empty()) return std::string();
            return GatheringText({news->present().begin(), news->present().end()},
                                 news->machines());
          }};
  // The machine that serves ends the wait for machines. This one waits a little longer, so that all
  // of them give the same reason.
  const absl::Duration timeout = launch.place.timeout + absl::Seconds(30);
  ACCEL_ASSIGN_OR_RETURN(const int signal, AwaitMachines(awaited, signals, timeout, console));
  return signal != 0 ? signal : remote_signal;
}

}  // namespace

absl::StatusOr<int> JoinLaunch(const MachinesLaunch& launch, const Part& part,
                               const LaunchSecret& secret, const Workplace& workplace,
                               const Console& console) {
  ACCEL_ASSIGN_OR_RETURN(const std::string node_id, common::RandomHex());
  ACCEL_ASSIGN_OR_RETURN(const auto authority, AuthorityOf(launch.place, secret.value));
  ACCEL_ASSIGN_OR_RETURN(const auto identity, MakeClientIdentity(authority, node_id, absl::Now()));
  const std::shared_ptr<grpc::Channel> channel = OpenRunChannel(part.serves, identity);
  auto client = std::make_unique<RunClient>(channel, DescribeMachine(launch, part), launch.place,
                                            secret.source);
  const int signals = workplace.signals.get();
  ACCEL_ASSIGN_OR_RETURN(
      int signal, AwaitNews(
                      client.get(), launch, part.why_not, signals,
                      [](const v1::RunNews& news) { return news.placement_order() > 0; }, console));
  if (signal != 0) return 128 + signal;
  const v1::RunNews news = *client->news();
  ACCEL_ASSIGN_OR_RETURN(v1::NodeObserved observed,
                         MachineIdentity(node_id, news.node_name(), news.placement_order(),
                                         part.address, !launch.plan.cpu));
  auto agent = std::make_unique<LocalAgent>(
      workplace.AgentOptions(launch.plan.cpu, launch.place.ports), std::move(observed),
      std::make_unique<OwnCommandLink>(std::make_unique<agent::GrpcLink>(channel), launch.spec));
  ACCEL_ASSIGN_OR_RETURN(signal,
                         AwaitNews(
                             client.get(), launch, part.why_not, signals,
                             [](const v1::RunNews& each) { return each.has_job(); }, console));
  if (signal != 0) return 128 + signal;
  JoinedJob job(client.get(), console);
  const std::string job_id = client->news()->job().job_id();
  return FollowOnMachine(&job, job_id, node_id, launch, workplace, console, [&] {
    agent.reset();
    client.reset();  // The machine that serves waits for this.
  });
}

}  // namespace accel::cli
