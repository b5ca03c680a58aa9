#include "cli/retry_deadline.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/clock.h"

namespace accel::cli {
namespace {

constexpr absl::Duration kSteady = absl::Seconds(1);
constexpr absl::Duration kLongestWait = absl::Minutes(1);  // Then the call is tried anyway.

}  // namespace

bool IsWorthARetry(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

absl::Duration RetryDeadline::left() const { return give_up_at_ - common::SteadyClock()->Now(); }

bool RetryDeadline::Pause(const absl::Status& why) {
  const absl::Time now = common::SteadyClock()->Now();
  if (!is_outage_ || opened_at_ + kSteady <= now) {
    is_outage_ = true;
    give_up_at_ = now + longest_;
    backoff_.Reset();
    reported_ = true;
    const std::string until = longest_ == kUntilItIsBack
                                  ? "until it is back"
                                  : absl::StrCat("for ", absl::FormatDuration(longest_));
    PrintMessage(console_, absl::StrCat(why.message(), "\naccel: trying again ", until));
  }
  opened_at_ = absl::InfiniteFuture();
  if (left() <= absl::ZeroDuration()) return false;
  absl::SleepFor(std::min(backoff_.Next(), left()));
  client_.AwaitConnection(std::clamp(left(), absl::ZeroDuration(), kLongestWait));
  return true;
}

void RetryDeadline::Open() {
  opened_at_ = common::SteadyClock()->Now();
  if (reported_) PrintMessage(console_, "the coordinator is back");
  reported_ = false;
}

void RetryDeadline::Renew() {
  if (reported_) Open();
  is_outage_ = false;
}

}  // namespace accel::cli
