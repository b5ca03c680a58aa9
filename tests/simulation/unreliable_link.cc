#include "tests/simulation/unreliable_link.h"

#include <sys/eventfd.h>

#include <algorithm>

namespace accel::simulation {
namespace {

constexpr absl::Duration kKeepalive = absl::Seconds(15);
constexpr absl::Duration kReconnect = absl::Seconds(1);

}  // namespace

UnreliableLink::UnreliableLink(uint32_t seed, const NetworkHabits* habits,
                               coordinator::Coordinator* coordinator, common::Clock* clock)
    : random_(seed),
      habits_(habits),
      coordinator_(coordinator),
      clock_(clock),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

bool UnreliableLink::Chance(double probability) {
  return std::uniform_real_distribution<double>(0, 1)(random_) < probability;
}

absl::Time UnreliableLink::Arrival(absl::Time after) {
  const double part = std::uniform_real_distribution<double>(0, 1)(random_);
  return std::max(after, clock_->Now() + habits_->longest_delay * part);
}

void UnreliableLink::Open() {
  stream_ = std::make_shared<Stream>();
  ++number_;
  stream_->session = coordinator_->OpenAgentSession({
      .on_desired =
          [this, weak = std::weak_ptr<Stream>(stream_)](coordinator::DesiredPtr desired) {
            const std::shared_ptr<Stream> stream = weak.lock();
            if (stream == nullptr) return;
            const absl::Time earlier =
                stream->down.empty() ? absl::InfinitePast() : stream->down.back().first;
            stream->down.emplace_back(Arrival(earlier), std::move(desired));
          },
      .on_closed =
          [weak = std::weak_ptr<Stream>(stream_)](absl::Status why) {
            if (const std::shared_ptr<Stream> stream = weak.lock()) stream->ended = std::move(why);
          },
  });
}

void UnreliableLink::Deliver(Stream* stream) {
  bool any = false;
  while (!stream->up.empty() && clock_->Now() >= stream->up.front().first) {
    const v1::NodeObserved report = std::move(stream->up.front().second);
    stream->up.pop_front();
    const bool again = report.sequence() <= stream->delivered;
    // The coordinator reads only the last report of a turn. A repeated one must not hide a new one.
    if (again && any) continue;
    any = true;
    if (!again && Chance(habits_->doubled)) {
      const absl::Time earlier = stream->up.empty() ? clock_->Now() : stream->up.back().first;
      stream->up.emplace_back(Arrival(earlier), report);
    }
    stream->delivered = std::max(stream->delivered, report.sequence());
    if (stream == stream_.get() && !again) last_heard_ = clock_->Now();
    stream->session->Report(report);
  }
}

void UnreliableLink::Run() {
  const absl::Time now = clock_->Now();
  if (partition_) {
    if (stream_ != nullptr && now >= silent_since_ + kKeepalive) Break(absl::ZeroDuration());
    return;
  }
  if (stream_ != nullptr && !stream_->ended.ok() && !absl::IsAlreadyExists(stream_->ended)) {
    Break(absl::ZeroDuration());
  }
  if (stream_ == nullptr && now >= connect_at_) Open();
  if (stream_ != nullptr) Deliver(stream_.get());
  for (auto stream = broken_.begin(); stream != broken_.end();) {
    Deliver(stream->get());
    stream = now >= (*stream)->closed_at ? broken_.erase(stream) : std::next(stream);
  }
}

void UnreliableLink::Break(absl::Duration unnoticed) {
  if (stream_ == nullptr) return;
  stream_->down.clear();
  stream_->closed_at = clock_->Now() + unnoticed;
  broken_.push_back(std::move(stream_));
  stream_ = nullptr;
  connect_at_ = clock_->Now() + kReconnect;
}

void UnreliableLink::SetPartition(bool partition) {
  if (partition && !partition_) silent_since_ = clock_->Now();
  partition_ = partition;
}

void UnreliableLink::Report(v1::NodeObserved observed) {
  if (stream_ == nullptr) return;
  const absl::Time earlier = stream_->up.empty() ? absl::InfinitePast() : stream_->up.back().first;
  stream_->up.emplace_back(Arrival(earlier), std::move(observed));
}

std::optional<v1::NodeDesired> UnreliableLink::TakeDesired(uint64_t session) {
  if (stream_ == nullptr || partition_ || session != number_) return std::nullopt;
  coordinator::DesiredPtr newest;
  while (!stream_->down.empty() && clock_->Now() >= stream_->down.front().first) {
    newest = std::move(stream_->down.front().second);
    stream_->down.pop_front();
    if (!Chance(habits_->doubled)) continue;
    // Delivers this message again later: alone, or as an old one behind newer ones.
    stream_->down.emplace_back(clock_->Now(), newest);
    break;
  }
  if (newest == nullptr) return std::nullopt;
  return *newest;
}

absl::Status UnreliableLink::fatal() {
  return stream_ != nullptr && absl::IsAlreadyExists(stream_->ended) ? stream_->ended
                                                                     : absl::OkStatus();
}

}  // namespace accel::simulation
