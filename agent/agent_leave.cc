// How an agent says goodbye, for its node or only for itself (docs/decisions/0043 and 0096).
//
// The agent must not end before the coordinator has stored how the jobs ended that leave with it.
// Otherwise the coordinator waits for the next agent to report it, or until no process can be left
// (coordinator/core/silence.h). The wait has a limit in each of its phases: for the coordinator's
// answer, for the ends of the processes, and for the commit of their results.
#include <algorithm>

#include "agent/agent.h"
#include "common/log.h"

namespace accel::agent {
namespace {

// The longest time in which a coordinator that is not away answers.
constexpr absl::Duration kLongestAnswer = absl::Seconds(2);
// The longest time in which processes end after their grace.
constexpr absl::Duration kLongestEnd = absl::Seconds(10);
// The longest time in which the coordinator stores the results, even if it is restarted meanwhile.
constexpr absl::Duration kLongestCommit = absl::Seconds(10);

}  // namespace

bool Agent::has_left(Leaver leaver) const {
  const ClusterHoldings here = state_.HoldingsOf(leaver);
  return state_.goodbye_taken() && !here.processes && !here.results;
}

void Agent::Leave(Leaver leaver, const std::string& why, int stop_fd) {
  if (leaver == Leaver::kAgent && !state_.HoldingsOf(leaver).processes) return;
  common::LogInfo("says goodbye", {{"why", why}});
  SayGoodbye(leaver, why);
  const absl::Time begun = with_.clock->Now();
  absl::Time all_ended = absl::InfiniteFuture();
  // Both remain known if the session breaks, because the shims go on ending their generations.
  bool taken = false;
  absl::Duration grace;
  while (RunOnce().ok() && !has_left(leaver)) {
    const absl::Time now = with_.clock->Now();
    taken |= state_.goodbye_taken();
    grace = std::max(grace, state_.LongestGrace(leaver));
    absl::Time until = begun + kLongestAnswer;
    if (taken && state_.HoldingsOf(leaver).processes) {
      until = begun + grace + kLongestEnd;
    } else if (taken) {
      all_ended = std::min(all_ended, now);
      until = all_ended + kLongestCommit;
    }
    if (now >= until) {
      common::LogWarning("leaves without the coordinator's answer, or before all jobs have ended");
      return;
    }
    if (Wait(stop_fd, until)) {
      common::LogWarning("leaves before all jobs have ended, because it was asked again to stop");
      return;
    }
  }
}

}  // namespace accel::agent
