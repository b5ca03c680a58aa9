#include "coordinator/core/ledger.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/loopback.h"

namespace accel::coordinator {
namespace {

void RemoveAll(const google::protobuf::RepeatedField<int>& gone, std::vector<int>* from) {
  for (int id : gone) from->erase(std::remove(from->begin(), from->end(), id), from->end());
}

void TakeHeld(const ClusterState& state, NodeOffer* offer) {
  for (const auto& [job, machine_rank] : offer->entry->jobs) {
    ++offer->generations;
    const v1::Placement& placement =
        CurrentGeneration(state.jobs.at(job).job)->placements(machine_rank);
    offer->ranks += placement.processes();
    RemoveAll(placement.gpu_ids(), &offer->free_gpus);
  }
}

// A rank or a GPU is given to another process only after its former holder is known to be gone
// (invariant 4). Therefore a node is busy while it has processes of a generation that is over, or
// may still start them.
std::string WhyBusy(const ClusterState& state, const NodeOffer& offer) {
  const v1::NodeObserved& observed = offer.entry->observed;
  for (const v1::ObservedGeneration& part : observed.generations()) {
    if (part.state() == v1::ObservedGeneration::ENDED) continue;
    if (IsLive(state, common::JobId(part.job_id()), part.generation())) continue;
    return absl::StrCat("node ", observed.name(), " is still ending generation ", part.generation(),
                        " of job ", part.job_id());
  }
  if (observed.applied_version() < offer.entry->settled_from) {
    return absl::StrCat("node ", observed.name(),
                        " has not yet acted on the end of a generation that was given up there");
  }
  return "";
}

std::string OnTrial(const NodeOffer& offer) {
  return absl::StrCat("node ", offer.entry->observed.name(),
                      " is on trial with another job, because its last starts failed");
}

// A node that was excluded runs one job as a trial. It takes no other job until that
// one is RUNNING.
std::string WhyOnTrial(const ClusterState& state, const NodeOffer& offer) {
  if (!IsOnTrial(offer.entry->health)) return "";
  const bool trying = std::any_of(
      offer.entry->jobs.begin(), offer.entry->jobs.end(),
      [&state](const auto& job) { return state.jobs.at(job.first).job.phase() != v1::RUNNING; });
  return trying ? OnTrial(offer) : "";
}

std::string WhyFull(const NodeOffer& offer, int most) {
  if (offer.generations < most) return "";
  return absl::StrCat("node ", offer.entry->observed.name(), " runs ", offer.generations,
                      " jobs, its maximum");
}

// The order of the offers.
using Place = std::tuple<int, const std::string&, const std::string&>;

Place PlaceOf(const NodeOffer& offer) {
  const v1::NodeObserved& observed = offer.entry->observed;
  return {observed.placement_order(), observed.name(), offer.id.value()};
}
Place PlaceOf(const ClusterState& state, const v1::Placement& placement) {
  const NodeEntry& node = state.nodes.at(common::NodeId(placement.node_id()));
  return {node.observed.placement_order(), placement.node_name(), placement.node_id()};
}

}  // namespace

Ledger::Ledger(const ClusterState& state, absl::Time now)
    : state_(state), generations_per_node_(state.limits.generations_per_node) {
  for (const auto& [id, node] : state.nodes) {
    if (!IsConnected(state, node, now)) continue;
    // Silence is no event.
    changes_at_ = std::min(changes_at_, SilentFrom(state, node));
    const v1::NodeObserved& observed = node.observed;
    if (const std::string why = WhyRefuses(node, now); !why.empty()) {
      refusals_.push_back(absl::StrCat("node ", observed.name(), ": ", why));
      if (IsExcluded(node.health, now)) {
        changes_at_ = std::min(changes_at_, node.health.excluded_until);
      }
      continue;
    }
    NodeOffer offer;
    offer.id = id;
    offer.entry = &node;
    for (const v1::Gpu& gpu : observed.inventory().gpus()) offer.gpus.push_back(gpu.index());
    std::sort(offer.gpus.begin(), offer.gpus.end());
    offer.gpus.erase(std::unique(offer.gpus.begin(), offer.gpus.end()), offer.gpus.end());
    offer.free_gpus = offer.gpus;
    TakeHeld(state, &offer);
    offer.busy = WhyBusy(state, offer);
    if (offer.busy.empty()) offer.busy = WhyFull(offer, generations_per_node_);
    if (offer.busy.empty()) offer.busy = WhyOnTrial(state, offer);
    offers_.push_back(std::move(offer));
  }
  std::sort(offers_.begin(), offers_.end(),
            [](const NodeOffer& a, const NodeOffer& b) { return PlaceOf(a) < PlaceOf(b); });
}

void Ledger::Take(const std::vector<v1::Placement>& placements) {
  for (const v1::Placement& placement : placements) {
    const Place place = PlaceOf(state_, placement);
    const auto found =
        std::lower_bound(offers_.begin(), offers_.end(), place,
                         [](const NodeOffer& a, const Place& b) { return PlaceOf(a) < b; });
    ACCEL_CHECK(found != offers_.end() && PlaceOf(*found) == place,
                "jobs are placed on nodes that were offered");
    NodeOffer& offer = *found;
    ++offer.generations;
    offer.ranks += placement.processes();
    if (offer.busy.empty()) offer.busy = WhyFull(offer, generations_per_node_);
    if (offer.busy.empty() && IsOnTrial(offer.entry->health)) offer.busy = OnTrial(offer);
    RemoveAll(placement.gpu_ids(), &offer.free_gpus);
    if (placement.store_socket() != 0) offer.taken_sockets.insert(placement.store_socket());
  }
}

const v1::StoreSocket* FindSpareSocket(const NodeOffer& offer, bool peers) {
  const v1::NodeObserved& node = offer.entry->observed;
  const v1::StoreSocket* other = nullptr;  // On another loopback address than 127.0.0.1.
  for (const v1::StoreSocket& socket : node.store_sockets()) {
    if (socket.id() == 0 || offer.entry->consumed_sockets.count(socket.id()) != 0) continue;
    if (offer.taken_sockets.count(socket.id()) != 0) continue;
    if (peers) {
      if (socket.address() == node.address()) return &socket;
    } else if (socket.address() == "127.0.0.1") {
      return &socket;
    } else if (common::IsLoopback(socket.address())) {
      other = &socket;
    }
  }
  return other;
}

}  // namespace accel::coordinator
