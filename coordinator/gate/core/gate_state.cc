#include "coordinator/gate/core/gate_state.h"

#include <algorithm>

namespace accel::coordinator {
namespace {

// Maximum number of connections that end in one call. Thousands of strangers who came at the same
// time also end at the same time. Closing all of them takes so long that the kernel's queue of new
// connections would overflow.
constexpr size_t kMaxExpired = 256;

// Adds to the count of a source, and removes a count that has become 0.
void Count(const std::string& source, int change, absl::flat_hash_map<std::string, int>* counts) {
  int& count = (*counts)[source];
  count += change;
  if (count == 0) counts->erase(source);
}

int CountOf(const std::string& source, const absl::flat_hash_map<std::string, int>& counts) {
  const auto found = counts.find(source);
  return found == counts.end() ? 0 : found->second;
}

}  // namespace

int GateState::Waiting() const {
  return static_cast<int>(silent_strangers_.size() + silent_friends_.size() + strangers_.size() +
                          friends_.size() + enrolments_.size());
}

bool GateState::MayOpen() const { return size() - Waiting() < limits_.open; }

// Counts a new connection as accepted or refused. If `crowded` is set, evicts another
// connection for it.
GateState::Admission GateState::MakeRoom(bool crowded, absl::Time now) {
  Admission admission;
  if (crowded) {
    admission.evicted = Evict(now);
    if (!admission.evicted.has_value()) {
      ++counts_.refused;
      return admission;
    }
  }
  admission.admitted = true;
  ++counts_.accepted;
  return admission;
}

GateState::Admission GateState::Accept(ConnectionId id, const std::string& source, bool crowded,
                                       absl::Time now) {
  if (CountOf(source, per_source_) >= limits_.per_source) {
    ++counts_.refused;
    return {};
  }
  const Admission admission = MakeRoom(crowded || Waiting() >= limits_.waiting, now);
  if (!admission.admitted) return admission;
  Connection& connection = connections_[id];
  connection.source = source;
  connection.known = known_.Contains(source);
  Count(source, 1, &per_source_);
  SilentOf(connection)->insert(id);
  SetDeadline(id, &connection, now + limits_.first_record);
  return admission;
}

GateState::Admission GateState::AcceptOpen(ConnectionId id, bool crowded, absl::Time now) {
  const Admission admission = MakeRoom(crowded, now);
  if (admission.admitted) connections_[id].phase = Phase::kOpen;
  return admission;
}

std::optional<ConnectionId> GateState::Evict(absl::Time now) {
  std::optional<ConnectionId> evicted = ChooseVictim(now);
  if (!evicted.has_value()) return std::nullopt;
  Remove(*evicted);
  ++counts_.evicted;
  return evicted;
}

std::optional<ConnectionId> GateState::ChooseVictim(absl::Time now) const {
  const auto oldest = [](const std::set<ConnectionId>& silent) {
    return silent.empty() ? std::nullopt : std::optional<ConnectionId>(*silent.begin());
  };
  const std::optional<ConnectionId> stranger = oldest(silent_strangers_);
  const bool is_late = stranger.has_value() && now >= connections_.at(*stranger).deadline -
                                                          limits_.first_record + limits_.round_trip;
  if (is_late) return stranger;
  if (const auto parked = strangers_.NewestOfGreediest()) return parked;
  if (const auto enrols = enrolments_.NewestOfGreediest()) return enrols;
  if (stranger.has_value()) return stranger;
  if (const auto friendly = oldest(silent_friends_)) return friendly;
  return friends_.NewestOfGreediest();
}

void GateState::Park(ConnectionId id, bool enrols, absl::Time now) {
  const auto found = connections_.find(id);
  if (found == connections_.end() || found->second.phase != Phase::kSilent) return;
  Connection& connection = found->second;
  SilentOf(connection)->erase(id);
  connection.phase = Phase::kParked;
  connection.enrols = enrols;
  connection.known = known_.Contains(connection.source);
  QueueOf(connection)->Push(connection.source, id);
  SetDeadline(id, &connection, now + limits_.parked);
}

void GateState::Reject(ConnectionId id) {
  if (connections_.contains(id)) ++counts_.unknown;
  Remove(id);
}

std::set<ConnectionId>* GateState::SilentOf(const Connection& connection) {
  return connection.known ? &silent_friends_ : &silent_strangers_;
}

SourceQueue* GateState::QueueOf(const Connection& connection) {
  if (connection.enrols) return &enrolments_;
  return connection.known ? &friends_ : &strangers_;
}

std::vector<GateState::Released> GateState::Release(absl::Time now) {
  std::vector<Released> released;
  ReleaseFrom(&friends_, limits_.pending_known, &pending_known_, now, &released);
  ReleaseFrom(&strangers_, limits_.pending_strangers, &pending_strangers_, now, &released);
  ReleaseFrom(&enrolments_, limits_.enrolling, &enrolling_, now, &released);
  return released;
}

void GateState::ReleaseFrom(SourceQueue* queue, int places, int* taken, absl::Time now,
                            std::vector<Released>* released) {
  const auto may = [this](const std::string& source) {
    return CountOf(source, pending_per_source_) < limits_.pending_per_source;
  };
  while (*taken < places && MayOpen()) {
    const std::optional<ConnectionId> id = queue->Take(may);
    if (!id.has_value()) return;
    Connection& connection = connections_.at(*id);
    connection.phase = Phase::kPending;
    ++*taken;
    Count(connection.source, 1, &pending_per_source_);
    SetDeadline(*id, &connection,
                now + (connection.enrols ? limits_.enrolment : limits_.first_call));
    released->push_back({*id, connection.enrols});
  }
}

bool GateState::Authenticated(ConnectionId id, const std::string& serial) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return false;
  Connection& connection = found->second;
  const bool pending = connection.phase == Phase::kPending;
  if (!pending && connection.phase != Phase::kOpen) return false;
  if (pending) {
    LeavePhase(id, connection);
    connection.phase = Phase::kOpen;
    ++counts_.opened;
    known_.Remember(connection.source);
    SetDeadline(id, &connection, absl::InfiniteFuture());
  }
  if (connection.serial.empty() && !serial.empty()) {
    connection.serial = serial;
    by_serial_[serial].insert(id);
  }
  return pending;
}

void GateState::Closed(ConnectionId id) { Remove(id); }

// Removes the connection from the queues and counts of its phase. Its deadline remains.
void GateState::LeavePhase(ConnectionId id, const Connection& connection) {
  if (connection.phase == Phase::kSilent) SilentOf(connection)->erase(id);
  if (connection.phase == Phase::kParked) QueueOf(connection)->Remove(connection.source, id);
  if (connection.phase != Phase::kPending) return;
  Count(connection.source, -1, &pending_per_source_);
  --(connection.enrols ? enrolling_ : connection.known ? pending_known_ : pending_strangers_);
}

void GateState::Remove(ConnectionId id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = found->second;
  LeavePhase(id, connection);
  SetDeadline(id, &connection, absl::InfiniteFuture());
  if (!connection.source.empty()) Count(connection.source, -1, &per_source_);
  const auto serial = by_serial_.find(connection.serial);
  if (serial != by_serial_.end()) {
    serial->second.erase(id);
    if (serial->second.empty()) by_serial_.erase(serial);
  }
  connections_.erase(found);
}

std::vector<ConnectionId> GateState::Expire(absl::Time now) {
  std::vector<ConnectionId> expired;
  while (expired.size() < kMaxExpired && !deadlines_.empty() && deadlines_.begin()->first <= now) {
    expired.push_back(deadlines_.begin()->second);
    Remove(expired.back());
  }
  counts_.expired += static_cast<int64_t>(expired.size());
  return expired;
}

std::vector<ConnectionId> GateState::OfSerial(const std::string& serial) const {
  const auto found = by_serial_.find(serial);
  if (found == by_serial_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

std::string GateState::SerialOf(ConnectionId id) const {
  const auto found = connections_.find(id);
  return found == connections_.end() ? "" : found->second.serial;
}

void GateState::SetDeadline(ConnectionId id, Connection* connection, absl::Time deadline) {
  if (connection->deadline != absl::InfiniteFuture()) deadlines_.erase({connection->deadline, id});
  connection->deadline = deadline;
  if (deadline != absl::InfiniteFuture()) deadlines_.emplace(deadline, id);
}

absl::Time GateState::next_deadline() const {
  return deadlines_.empty() ? absl::InfiniteFuture() : deadlines_.begin()->first;
}

}  // namespace accel::coordinator
