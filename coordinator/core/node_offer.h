// The resources that one node has for jobs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/ids.h"
#include "proto/job.pb.h"

namespace accel::coordinator {

struct ClusterState;
struct NodeEntry;

// The parts of a generation, by machine rank. Of the type that a job has, so that they move there.
using Placements = google::protobuf::RepeatedPtrField<v1::Placement>;

// A socket on which the node listens for the store of a job, and which no job uses.
struct SpareSocket {
  uint64_t id = 0;
  std::string address;
  int port = 0;
  bool operator==(const SpareSocket&) const = default;
};

// Equal offers take the same jobs, and give the same reasons to wait.
struct NodeOffer {
  common::NodeId id;
  // The node in the state. It dangles from the removal of the node until the next Ledger::Update().
  const NodeEntry* entry = nullptr;
  int order = 0;  // NodeObserved.placement_order.
  std::string name;
  std::string address;         // The address that the node advertises.
  int cpus = 1;                // At least 1.
  std::vector<int> gpus;       // The indexes of all GPUs of the node, ascending.
  std::vector<int> free_gpus;  // The GPUs that no generation holds, ascending.
  int generations = 0;         // The number of generations with a part here.
  int most_generations = 0;    // Limits::generations_per_node.
  int ranks = 0;               // The number of ranks of these generations here.
  bool is_on_trial = false;    // IsOnTrial(): the node takes one job at a time.
  // Why the node takes no job now, as a part of a sentence. If empty, the node takes jobs.
  std::string busy;
  std::vector<SpareSocket> sockets;  // In the node's order.

  bool operator==(const NodeOffer&) const = default;
};

// Returns what the node offers. It must be a node of `state`.
NodeOffer OfferOf(const ClusterState& state, const common::NodeId& id, const NodeEntry& node);

// Subtracts what a part of a generation takes on this node.
void TakePart(const v1::Placement& placement, NodeOffer* offer);

// Returns a spare store socket of the node, or null if there is none. If `peers` is set, the socket
// listens on the address that the node advertises, because ranks on other nodes must reach it.
// Otherwise it listens on a loopback address, so that no other node reaches it
// (docs/decisions/0057).
const SpareSocket* FindSpareSocket(const NodeOffer& offer, bool peers);

}  // namespace accel::coordinator
