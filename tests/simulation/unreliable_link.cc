#include "tests/simulation/unreliable_link.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/check.h"
#include "coordinator/wire.h"

namespace accel::simulation {
namespace {

// As in agent/channel.cc and coordinator/gate/tcp_options.cc: a ping each 10 s, which is answered
// within 5 s.
constexpr absl::Duration kKeepalive = absl::Seconds(10);
constexpr absl::Duration kKeepaliveTimeout = absl::Seconds(5);
// As in agent/session_pauses.h.
constexpr absl::Duration kFirstPause = absl::Milliseconds(50);
constexpr absl::Duration kLongestPause = absl::Seconds(1);

}  // namespace

UnreliableLink::UnreliableLink(uint32_t seed, const NetworkHabits* habits, const PlantedBug* bug,
                               SimulatedCoordinator* coordinator, common::Clock* clock)
    : random_(seed),
      habits_(*habits),
      bug_(*bug),
      home_(coordinator),
      coordinator_(coordinator),
      clock_(clock),
      backoff_(kFirstPause, kLongestPause, seed),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

absl::Time UnreliableLink::Arrival(absl::Time after) {
  return std::max(after, clock_->Now() + habits_.longest_delay * Chance());
}

void UnreliableLink::Open() {
  connect_at_ = clock_->Now() + backoff_.Next();
  if (!coordinator_->runs() || !up_ || !down_) return;
  stream_ = std::make_shared<Stream>();
  precision_.Begin(++number_, clock_->Now());
  arrived_.clear();
  published_ = 0;
  stream_->life = coordinator_->life();
  stream_->session = coordinator_->process()->OpenAgentSession(
      coordinator::Owner(),
      {
          .on_desired =
              [this, weak = std::weak_ptr<Stream>(stream_)](coordinator::DesiredPtr desired) {
                const std::shared_ptr<Stream> stream = weak.lock();
                if (stream == nullptr) return;
                stream->accepted = true;
                if (stream == stream_) {
                  published_ = desired->node.version();
                  published_at_ = clock_->Now();
                }
                NoteHeard(*stream);
                const absl::Time earlier =
                    stream->down.empty() ? absl::InfinitePast() : stream->down.back().first;
                stream->down.emplace_back(Arrival(earlier), std::move(desired));
              },
          .on_closed =
              [this, weak = std::weak_ptr<Stream>(stream_)](absl::Status why) {
                const std::shared_ptr<Stream> stream = weak.lock();
                if (stream != nullptr && !coordinator_->host_down()) stream->ended = std::move(why);
              },
      });
}

void UnreliableLink::Deliver(Stream* stream) {
  if (!up_ || !coordinator_->runs() || stream->life != coordinator_->life()) return;
  bool any = false;
  while (!stream->up.empty() && clock_->Now() >= stream->up.front().first) {
    Sent sent = std::move(stream->up.front().second);
    v1::NodeObserved& report = sent.report;
    stream->up.pop_front();
    const bool again = report.sequence() <= stream->delivered;
    // The coordinator reads only the last report of a turn. A repeated one must not hide a new one.
    if (stream->session == nullptr || (again && any)) continue;
    any = true;
    if (!again && Chance() < habits_.doubled) {
      const absl::Time earlier = stream->up.empty() ? clock_->Now() : stream->up.back().first;
      stream->up.emplace_back(Arrival(earlier), sent);
    }
    stream->delivered = std::max(stream->delivered, report.sequence());
    if (stream == stream_.get() && !again) stream->heard_at = clock_->Now();
    if (stream->accepted) NoteHeard(*stream);
    if (stream == stream_.get()) arrived_.emplace_back(report.applied_version(), sent.at);
    if (stream == stream_.get() && stream->accepted && !is_astray()) NoteCheckpoints(report);
    if (bug_.report) bug_.report(&report);
    // The coordinator's own reader, which a stream of gRPC also has.
    absl::StatusOr<coordinator::NodeReport> read =
        stream->reader.Read(coordinator::ToBytes(report));
    ACCEL_CHECK(read.ok(), "agents send nothing that the coordinator cannot read");
    stream->session->Report(*std::move(read));
  }
}

// Returns true if the agent's host learns that the stream is over: from the coordinator, from the
// kernel of the coordinator's host, or because that host answers with a reset.
bool UnreliableLink::IsReset() const {
  if (!down_ || coordinator_->host_down()) return false;
  if (absl::IsAlreadyExists(stream_->ended)) return false;  // See fatal().
  if (!stream_->ended.ok() || stream_->life != coordinator_->life()) return true;
  return up_ && coordinator_->runs() && stream_->session == nullptr;
}

void UnreliableLink::RunKeepalives(bool agent_runs) {
  const auto limit = [this] { return clock_->Now() + kKeepaliveTimeout + kKeepalive * Chance(); };
  const bool passes = up_ && down_;
  if (passes && coordinator_->runs()) {
    agent_closes_at_.reset();
  } else if (!agent_closes_at_.has_value()) {
    agent_closes_at_ = limit();
  } else if (agent_runs && clock_->Now() >= *agent_closes_at_) {
    agent_closes_at_.reset();
    Break(absl::ZeroDuration());
  }
  if (passes && agent_runs) {
    coordinator_closes_at_.reset();
  } else if (!coordinator_closes_at_.has_value()) {
    coordinator_closes_at_ = limit();
  } else if (coordinator_->runs() && clock_->Now() >= *coordinator_closes_at_) {
    coordinator_closes_at_.reset();
    if (stream_ != nullptr) stream_->session.reset();
    broken_.clear();
  }
}

void UnreliableLink::RunBroken() {
  for (auto stream = broken_.begin(); stream != broken_.end();) {
    Deliver(stream->get());
    const bool detected = up_ && coordinator_->runs() && clock_->Now() >= (*stream)->closed_at;
    const bool over = detected || (*stream)->life != coordinator_->life();
    stream = over ? broken_.erase(stream) : std::next(stream);
  }
}

void UnreliableLink::NoteCheckpoints(const v1::NodeObserved& report) {
  for (const v1::ObservedGeneration& part : report.generations()) {
    if (part.checkpoints() <= 0) continue;
    told_of_checkpoints_.insert(
        {coordinator_->life(), {common::JobId(part.job_id()), part.generation()}});
  }
}

// Notes how long the messages took that the coordinator has read in its last turn.
void UnreliableLink::NotePrecision() {
  if (!coordinator_->runs()) return;
  for (const auto& [version, sent_at] : std::exchange(arrived_, {})) {
    precision_.CameUp(clock_->Now() - sent_at, clock_->Now());
    if (published_ == 0 || version != published_) continue;
    published_ = 0;
    precision_.WentDown(sent_at - published_at_, clock_->Now());
  }
}

void UnreliableLink::Run(bool agent_runs) {
  NotePrecision();
  RunKeepalives(agent_runs);
  if (agent_runs) {
    if (stream_ != nullptr && IsReset()) Break(absl::ZeroDuration());
    if (stream_ == nullptr && clock_->Now() >= connect_at_) Open();
  }
  if (stream_ != nullptr) Deliver(stream_.get());
  RunBroken();
}

void UnreliableLink::Break(absl::Duration unnoticed) {
  if (stream_ == nullptr) return;
  stream_->down.clear();
  stream_->closed_at = clock_->Now() + unnoticed;
  if (stream_->session != nullptr) broken_.push_back(std::move(stream_));
  stream_ = nullptr;
  connect_at_ = clock_->Now() + backoff_.Next();
}

void UnreliableLink::NoteHeard(const Stream& stream) {
  if (!is_astray()) last_heard_ = std::max(last_heard_, stream.heard_at);
}

void UnreliableLink::Connect(SimulatedCoordinator* coordinator) {
  if (coordinator_ == coordinator) return;
  Break(absl::ZeroDuration());
  broken_.clear();
  coordinator_ = coordinator;
}

void UnreliableLink::GoTo(SimulatedCoordinator* stranger) { Connect(stranger); }
void UnreliableLink::Return() { Connect(home_); }

void UnreliableLink::Cut(bool up, bool down) {
  up_ = !up;
  down_ = !down;
}

void UnreliableLink::Report(v1::NodeObserved observed) {
  if (stream_ == nullptr) return;
  const absl::Time earlier = stream_->up.empty() ? absl::InfinitePast() : stream_->up.back().first;
  stream_->up.emplace_back(Arrival(earlier), Sent{std::move(observed), clock_->Now()});
}

std::optional<v1::NodeDesired> UnreliableLink::TakeDesired(uint64_t session) {
  if (stream_ == nullptr || !down_ || session != number_) return std::nullopt;
  coordinator::DesiredPtr newest;
  while (!stream_->down.empty() && clock_->Now() >= stream_->down.front().first) {
    // An old message that is repeated behind newer ones comes alone, and takes no place of theirs.
    const uint64_t version = stream_->down.front().second->node.version();
    if (newest != nullptr && version < newest->node.version()) break;
    newest = std::move(stream_->down.front().second);
    stream_->down.pop_front();
    if (Chance() >= habits_.doubled) continue;
    // Delivers this message again later: alone, or as an old one behind newer ones.
    stream_->down.emplace_back(clock_->Now(), newest);
    break;
  }
  if (newest == nullptr) return std::nullopt;
  backoff_.Reset();
  v1::NodeDesired desired = coordinator::Whole(*newest);
  if (bug_.desired) bug_.desired(&desired);
  return desired;
}

absl::Status UnreliableLink::fatal() {
  return stream_ != nullptr && absl::IsAlreadyExists(stream_->ended) ? stream_->ended
                                                                     : absl::OkStatus();
}

}  // namespace accel::simulation
