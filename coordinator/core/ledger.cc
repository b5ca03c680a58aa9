#include "coordinator/core/ledger.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {
namespace {

// Above this number, Update() looks at all nodes.
constexpr size_t kMostTouched = 20'000;

}  // namespace

bool Ledger::InOrder::operator()(const NodeOffer* a, const NodeOffer* b) const {
  return std::tie(a->order, a->name, a->id) < std::tie(b->order, b->name, b->id);
}

bool Ledger::ByLoad::operator()(const NodeOffer* a, const NodeOffer* b) const {
  const int64_t left = int64_t{a->ranks} * b->cpus;
  const int64_t right = int64_t{b->ranks} * a->cpus;
  return left != right ? left < right : InOrder()(a, b);
}

void Ledger::Touch(const common::NodeId& node) {
  if (all_touched_) return;
  if (touched_.insert(node).second && !entries_.contains(node)) unknown_.push_back(node);
  // While no job waits, the planner does not call Update(), and nodes may come and go.
  if (touched_.size() > kMostTouched) TouchAll();
}

void Ledger::TouchAll() {
  all_touched_ = true;
  touched_.clear();
  unknown_.clear();
}

absl::Time Ledger::changes_at() const {
  if (all_touched_ || !touched_.empty()) return absl::InfinitePast();
  return by_time_.empty() ? absl::InfiniteFuture() : by_time_.begin()->first;
}

bool Ledger::Update(const ClusterState& state, absl::Time now) {
  if (all_touched_) {
    for (const auto& [id, entry] : entries_) touched_.insert(id);
    for (const auto& [id, node] : state.nodes) touched_.insert(id);
    all_touched_ = false;
  }
  LookAtDue(state, now);
  bool changed = false;
  for (const common::NodeId& id : touched_) changed |= Look(state, id, now);
  touched_.clear();
  unknown_.clear();
  return changed;
}

void Ledger::Prepare(const ClusterState& state, absl::Time now) {
  if (all_touched_) {
    Update(state, now);
    return;
  }
  for (const common::NodeId& id : std::exchange(unknown_, {})) {
    Look(state, id, now);
    touched_.erase(id);
  }
}

void Ledger::LookAtDue(const ClusterState& state, absl::Time now) {
  std::vector<common::NodeId> due;
  for (auto next = by_time_.begin(); next != by_time_.end() && next->first <= now; ++next) {
    due.push_back(next->second);
  }
  for (const common::NodeId& id : due) {
    Entry& entry = entries_.at(id);
    const auto node = state.nodes.find(id);
    // Most nodes have sent reports that said nothing new, which only postpone their silence.
    if (entry.offer.has_value() && node != state.nodes.end() &&
        IsConnected(state, node->second, now)) {
      LookAgainAt(SilentFrom(state, node->second), id, &entry);
    } else {
      touched_.insert(id);
    }
  }
}

bool Ledger::Look(const ClusterState& state, const common::NodeId& id, absl::Time now) {
  const auto node = state.nodes.find(id);
  if (node == state.nodes.end() || !IsConnected(state, node->second, now)) {
    const auto known = entries_.find(id);
    if (known == entries_.end()) return false;
    Forget(known);
    return true;
  }
  Entry& entry = entries_[id];
  absl::Time look_at = SilentFrom(state, node->second);  // Silence is no event.
  std::string why = WhyRefuses(node->second, now);
  std::optional<NodeOffer> offer;
  if (why.empty()) {
    offer = OfferOf(state, id, node->second);
  } else {
    why = absl::StrCat("node ", node->second.observed.name(), ": ", why);
    const absl::Time until = node->second.health.excluded_until;
    if (IsExcluded(node->second.health, now)) look_at = std::min(look_at, until);
  }
  LookAgainAt(look_at, id, &entry);
  const bool has_other_offer = SetOffer(std::move(offer), &entry);
  return SetRefusal(id, std::move(why)) || has_other_offer;
}

void Ledger::LookAgainAt(absl::Time time, const common::NodeId& id, Entry* entry) {
  if (entry->look_at == time) return;
  by_time_.erase({entry->look_at, id});
  by_time_.emplace(time, id);
  entry->look_at = time;
}

bool Ledger::SetOffer(std::optional<NodeOffer> offer, Entry* entry) {
  if (offer == entry->offer) return false;
  if (entry->offer.has_value()) Erase(*entry->offer);
  entry->offer = std::move(offer);
  if (entry->offer.has_value()) Insert(*entry->offer);
  return true;
}

bool Ledger::SetRefusal(const common::NodeId& id, std::string why) {
  if (why.empty()) return refusals_.erase(id) != 0;
  std::string& known = refusals_[id];
  if (known == why) return false;
  known = std::move(why);
  return true;
}

void Ledger::Insert(const NodeOffer& offer) {
  in_order_.insert(&offer);
  AddRoom(offer);
}

void Ledger::Erase(const NodeOffer& offer) {
  in_order_.erase(&offer);
  RemoveRoom(offer);
}

void Ledger::AddRoom(const NodeOffer& offer) {
  if (!offer.busy.empty()) {
    busy_.insert(&offer);
    return;
  }
  cpu_room_.insert(&offer);
  if (!offer.free_gpus.empty()) gpu_room_.insert(&offer);
}

void Ledger::RemoveRoom(const NodeOffer& offer) {
  if (!offer.busy.empty()) {
    busy_.erase(&offer);
    return;
  }
  cpu_room_.erase(&offer);
  if (!offer.free_gpus.empty()) gpu_room_.erase(&offer);
}

void Ledger::Forget(Entries::iterator entry) {
  const common::NodeId id = entry->first;
  by_time_.erase({entry->second.look_at, id});
  if (entry->second.offer.has_value()) Erase(*entry->second.offer);
  refusals_.erase(id);
  entries_.erase(entry);
}

void Ledger::Take(const Placements& placements) {
  for (const v1::Placement& placement : placements) {
    const auto found = entries_.find(common::NodeId(placement.node_id()));
    ACCEL_CHECK(found != entries_.end() && found->second.offer.has_value(),
                "jobs are placed on nodes that were offered");
    TakeFrom(placement, &*found->second.offer);
    Touch(found->first);
  }
}

// Moves the offer only in the sets in which its place changes. A busy node remains busy.
void Ledger::TakeFrom(const v1::Placement& placement, NodeOffer* offer) {
  const bool was_busy = !offer->busy.empty();
  if (!was_busy) cpu_room_.erase(offer);
  TakePart(placement, offer);
  if (was_busy) return;
  if (!offer->busy.empty() || offer->free_gpus.empty()) gpu_room_.erase(offer);
  if (offer->busy.empty()) {
    // A node that has just got a job usually has the highest load of all.
    cpu_room_.insert(cpu_room_.end(), offer);
  } else {
    busy_.insert(offer);
  }
}

bool Ledger::operator==(const Ledger& other) const {
  const auto same = [](const auto& a, const auto& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const NodeOffer* x, const NodeOffer* y) { return *x == *y; });
  };
  return refusals_ == other.refusals_ && same(in_order_, other.in_order_) &&
         same(gpu_room_, other.gpu_room_) && same(cpu_room_, other.cpu_room_) &&
         same(busy_, other.busy_);
}

}  // namespace accel::coordinator
