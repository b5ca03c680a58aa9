#include "coordinator/core/node_offer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/loopback.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {
namespace {

void RemoveAll(const google::protobuf::RepeatedField<int>& gone, std::vector<int>* from) {
  for (int id : gone) from->erase(std::remove(from->begin(), from->end(), id), from->end());
}

// Subtracts the place, the ranks and the GPUs of a part.
void Hold(const v1::Placement& placement, NodeOffer* offer) {
  ++offer->generations;
  offer->ranks += placement.processes();
  RemoveAll(placement.gpu_ids(), &offer->free_gpus);
}

void TakeHeld(const ClusterState& state, const NodeEntry& node, NodeOffer* offer) {
  for (const auto& [job, machine_rank] : node.jobs) {
    Hold(CurrentGeneration(state.jobs.at(job).job)->placements(machine_rank), offer);
  }
}

// A rank or a GPU is given to another process only after its former holder is known to be gone
// (invariant 4). Therefore a node is busy while it has processes of a generation that is over, or
// may still start them.
std::string WhyEnding(const ClusterState& state, const NodeEntry& node) {
  const v1::NodeObserved& observed = node.observed;
  for (const v1::ObservedGeneration& part : observed.generations()) {
    if (part.state() == v1::ObservedGeneration::ENDED) continue;
    if (IsLive(state, common::JobId(part.job_id()), part.generation())) continue;
    return absl::StrCat("node ", observed.name(), " is still ending generation ", part.generation(),
                        " of job ", part.job_id());
  }
  if (observed.applied_version() < node.settled_from) {
    return absl::StrCat("node ", observed.name(),
                        " has not yet acted on the end of a generation that was given up there");
  }
  return "";
}

std::string WhyFull(const NodeOffer& offer) {
  if (offer.generations < offer.most_generations) return "";
  return absl::StrCat("node ", offer.name, " runs ", offer.generations, " jobs, its maximum");
}

std::string OnTrial(const NodeOffer& offer) {
  return absl::StrCat("node ", offer.name,
                      " is on trial with another job, because its last starts failed");
}

// A node that was excluded runs one job as a trial. It takes no other job until that
// one is RUNNING.
std::string WhyOnTrial(const ClusterState& state, const NodeEntry& node, const NodeOffer& offer) {
  if (!offer.is_on_trial) return "";
  const bool trying = std::any_of(node.jobs.begin(), node.jobs.end(), [&state](const auto& job) {
    return state.jobs.at(job.first).job.phase() != v1::RUNNING;
  });
  return trying ? OnTrial(offer) : "";
}

}  // namespace

NodeOffer OfferOf(const ClusterState& state, const common::NodeId& id, const NodeEntry& node) {
  const v1::NodeObserved& observed = node.observed;
  NodeOffer offer;
  offer.id = id;
  offer.entry = &node;
  offer.order = observed.placement_order();
  offer.name = observed.name();
  offer.address = observed.address();
  offer.cpus = std::max(1, observed.inventory().cpus());
  for (const v1::Gpu& gpu : observed.inventory().gpus()) offer.gpus.push_back(gpu.index());
  std::sort(offer.gpus.begin(), offer.gpus.end());
  offer.gpus.erase(std::unique(offer.gpus.begin(), offer.gpus.end()), offer.gpus.end());
  offer.free_gpus = offer.gpus;
  offer.most_generations = state.limits.generations_per_node;
  offer.is_on_trial = IsOnTrial(node.health);
  TakeHeld(state, node, &offer);
  for (const v1::StoreSocket& socket : observed.store_sockets()) {
    if (socket.id() == 0 || node.consumed_sockets.contains(socket.id())) continue;
    offer.sockets.push_back({socket.id(), socket.address(), socket.port()});
  }
  offer.busy = WhyEnding(state, node);
  if (offer.busy.empty()) offer.busy = WhyFull(offer);
  if (offer.busy.empty()) offer.busy = WhyOnTrial(state, node, offer);
  return offer;
}

void TakePart(const v1::Placement& placement, NodeOffer* offer) {
  Hold(placement, offer);
  if (offer->busy.empty()) offer->busy = WhyFull(*offer);
  if (offer->busy.empty() && offer->is_on_trial) offer->busy = OnTrial(*offer);
  std::erase_if(offer->sockets, [&placement](const SpareSocket& socket) {
    return socket.id == placement.store_socket();
  });
}

const SpareSocket* FindSpareSocket(const NodeOffer& offer, bool peers) {
  const SpareSocket* other = nullptr;  // On another loopback address than 127.0.0.1.
  for (const SpareSocket& socket : offer.sockets) {
    if (peers) {
      if (socket.address == offer.address) return &socket;
    } else if (socket.address == "127.0.0.1") {
      return &socket;
    } else if (common::IsLoopback(socket.address)) {
      other = &socket;
    }
  }
  return other;
}

}  // namespace accel::coordinator
