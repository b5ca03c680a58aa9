// The problem: a job has machine ranks 0..n-1, which need given numbers of processes. Find a
// distinct node for each. A node is a candidate for a machine rank if it has enough free GPUs, and
// for machine rank 0 also a spare store socket.
//
// In general this is bipartite matching. Here a greedy search is enough, because the candidates are
// nested: a node that meets a need meets every smaller need. If each need, from the largest to the
// smallest, takes any node that fits, it never takes a node that a later need could not replace. So
// the search finds a fit whenever there is one. With cached positions it looks at each node once
// for each distinct need.
//
// Two conditions go beyond a fit:
//
// * Preference. The preferred nodes should get the job, and the first of them in the ledger's order
//   machine rank 0. So the search lets the machine ranks choose in their own order, and largest
//   first only if that fails. At the end it arranges the chosen nodes by rule 8 of the header, if
//   they still fit.
// * The store socket. It concerns machine rank 0 alone and breaks the nesting. In rare cases a fit
//   is missed because a larger need has taken the only node with a spare socket. This does no harm:
//   agents open another spare socket in a moment, and the job waits for that (Wait::kSocket).
//
// If there is no fit, Place() searches again with weaker conditions (enum Fit) to learn what the
// job waits for: a socket, other jobs, or other nodes.
//
// clang-format off
// An example: the machine ranks 0, 1, 2 need 2, 4 and 2 GPUs. Node a has 4 free GPUs, b and c have
// 2 each, and all have a spare socket.
//
//   in their own order    rank 0 takes a, rank 1 finds no node with 4        no fit
//   largest need first    rank 1 takes a, rank 0 takes b, rank 2 takes c     b, a, c
//   in the ledger's order a, b, c puts b on rank 1, which needs 4            no fit, so b, a, c
// clang-format on
#include "coordinator/core/placement.h"

#include <algorithm>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "coordinator/core/candidates.h"
#include "coordinator/core/cluster_state.h"
#include "coordinator/core/job_spec.h"

namespace accel::coordinator {
namespace {

// A need of one process for each GPU of the node.
constexpr int kAllGpus = 0;

// A distinct node for each machine rank, indexed by machine rank.
using Match = std::vector<const NodeOffer*>;

// The conditions under which a node fits, from the weakest to the strongest.
enum class Fit {
  kIdle,       // The node would have room if nothing else ran.
  kNow,        // The node has room now.
  kWithStore,  // Like kNow, and machine rank 0 has a spare store socket if the world needs one.
};

// The placement of one job.
class Request {
 public:
  // `nodes` is the number of nodes to find, at most spec.nodes(). `last` may be null.
  Request(const v1::JobSpec& spec, int nodes, v1::Devices devices,
          const std::set<common::NodeId>& avoid, const v1::GenerationRecord* last,
          const Ledger& ledger)
      : spec_(spec),
        nodes_(nodes),
        avoid_(avoid),
        last_(last),
        ledger_(ledger),
        gpu_(devices == v1::ON_GPUS) {}

  // Returns the number of processes that each machine rank needs, or kAllGpus.
  std::vector<int> Needs() const {
    std::vector<int> needs;
    for (int i = 0; i < nodes_; ++i) {
      const int entries = spec_.processes_per_node_size();
      needs.push_back(entries == 0 ? (gpu_ ? kAllGpus : 1)
                                   : spec_.processes_per_node(entries == 1 ? 0 : i));
    }
    return needs;
  }

  // Returns those of `gpus` that the job may use. If its spec names none, these are all.
  std::vector<int> Allowed(const std::vector<int>& gpus) const {
    if (spec_.gpu_ids().empty()) return gpus;
    std::vector<int> allowed;
    for (int gpu : gpus) {
      const auto& ids = spec_.gpu_ids();
      if (std::find(ids.begin(), ids.end(), gpu) != ids.end()) allowed.push_back(gpu);
    }
    return allowed;
  }

  // Returns a node for each machine rank, or nullopt if no fit was found.
  std::optional<Match> FindMatch(Fit fit) const {
    const std::vector<int> needs = Needs();
    std::vector<int> order(needs.size());
    std::iota(order.begin(), order.end(), 0);
    const Candidates candidates = ByPreference(fit);
    std::optional<Match> match = Deal(candidates, needs, order, fit);
    if (!match.has_value()) {
      std::stable_sort(order.begin(), order.end(),
                       [&needs](int a, int b) { return needs[a] > needs[b]; });
      match = Deal(candidates, needs, order, fit);
    }
    return match.has_value() ? Arrange(*std::move(match), needs, fit) : match;
  }

  // Explains why the job would not fit even if nothing else ran.
  std::string WhyNever() const {
    const size_t nodes = ledger_.offers().size();
    const std::string refusals = ledger_.refusals().empty()
                                     ? ""
                                     : absl::StrCat(" (", ledger_.refusals().begin()->second, ")");
    const int least = MinNodes(spec_);
    if (nodes < static_cast<size_t>(least)) {
      return absl::StrCat("Needs ", least, IsElastic(spec_) ? " or more" : "",
                          least == 1 ? " node; " : " nodes; ",
                          nodes == 0 ? std::string("none") : absl::StrCat(nodes),
                          nodes == 1 ? " is" : " are", " connected and taking work", refusals, ".");
    }
    size_t most = 0;
    for (const NodeOffer* offer : ledger_.offers()) {
      most = std::max(most, Allowed(offer->gpus).size());
    }
    const std::vector<int> needs = Needs();
    const int largest = *std::max_element(needs.begin(), needs.end());
    const absl::string_view which = spec_.gpu_ids().empty() ? "" : " of those named in gpu_ids";
    if (largest == kAllGpus) {
      return absl::StrCat("Needs ", least, least == 1 ? " node" : " nodes", " with GPUs", which,
                          "; fewer are connected. Ask for cpu to run without.");
    }
    return absl::StrCat("Needs a GPU for each process, up to ", largest, " on one node, on ", least,
                        least == 1 ? " node" : " nodes", "; the largest connected node has ", most,
                        which, ". Ask for fewer processes, or for cpu to run without GPUs.");
  }

  // Explains why a job that fits idle nodes does not fit now.
  std::string WhyNotNow() const {
    if (!ledger_.busy().empty()) {
      return absl::StrCat("Waits: ", (*ledger_.busy().begin())->busy, ".");
    }
    return "Waits for GPUs that other jobs hold.";
  }

  // Turns a match into ranks, GPUs and the address of the store. The match must be kWithStore.
  Assignment Assign(const Match& match) const {
    const std::vector<int> needs = Needs();
    Assignment assignment;
    int rank = 0;
    for (size_t i = 0; i < match.size(); ++i) {
      const NodeOffer& offer = *match[i];
      const std::vector<int> gpus = Allowed(offer.free_gpus);
      const int processes = needs[i] == kAllGpus ? static_cast<int>(gpus.size()) : needs[i];
      v1::Placement& placement = *assignment.placements.Add();
      placement.set_node_id(offer.id.value());
      placement.set_node_name(offer.name);
      placement.set_boot_id(offer.entry->observed.boot_id());
      placement.set_address(offer.address);
      *placement.mutable_addresses() = offer.entry->observed.addresses();
      placement.set_first_rank(rank);
      placement.set_processes(processes);
      if (gpu_) placement.mutable_gpu_ids()->Add(gpus.begin(), gpus.begin() + processes);
      rank += processes;
    }
    if (rank == 1) return assignment;
    // MASTER_ADDR is the address on which the socket listens. Ranks on the same node use it too.
    const SpareSocket* socket = FindSpareSocket(*match.front(), /*peers=*/match.size() > 1);
    ACCEL_CHECK(socket != nullptr, "a match with a store has a spare socket on machine rank 0");
    assignment.master_addr = socket->address;
    assignment.master_port = socket->port;
    assignment.placements.Mutable(0)->set_store_socket(socket->id);
    return assignment;
  }

  // Returns the nodes that have room now for a machine rank other than 0.
  std::vector<const NodeOffer*> FindRoom() const {
    const int need = Needs().back();
    std::vector<const NodeOffer*> room;
    for (const NodeOffer* offer : ledger_.offers()) {
      if (Fits(*offer, /*rank=*/1, need, Fit::kNow)) room.push_back(offer);
    }
    return room;
  }

 private:
  // Returns true if the node can be machine rank `rank`, which needs `need` processes.
  bool Fits(const NodeOffer& offer, int rank, int need, Fit fit) const {
    const bool idle = fit == Fit::kIdle;
    if (!idle && !offer.busy.empty()) return false;
    size_t processes = static_cast<size_t>(need);
    if (gpu_) {
      const size_t all = Allowed(offer.gpus).size();
      const size_t have = idle ? all : Allowed(offer.free_gpus).size();
      if (need == kAllGpus) processes = std::max(all, size_t{1});
      if (have < processes) return false;
    }
    if (fit != Fit::kWithStore || rank != 0) return true;
    const bool peers = nodes_ > 1;
    return (!peers && processes == 1) || FindSpareSocket(offer, peers) != nullptr;
  }

  // Returns the nodes that can fit, sorted by preference.
  Candidates ByPreference(Fit fit) const {
    // An idle node fits whatever runs there. Preference does not matter, because the job is not
    // placed.
    if (fit == Fit::kIdle) return Candidates(ledger_.offers(), avoid_);
    return gpu_ ? Candidates(ledger_.gpu_room(), avoid_) : Candidates(ledger_.cpu_room(), avoid_);
  }

  // Gives each machine rank, in the given order, the first candidate that is left and fits. Returns
  // nullopt if a machine rank finds none.
  std::optional<Match> Deal(Candidates candidates, const std::vector<int>& needs,
                            const std::vector<int>& order, Fit fit) const {
    Match match(needs.size(), nullptr);
    absl::flat_hash_set<size_t> used;
    // Every candidate before this one is used, or does not fit a need of this size. It is reset
    // when the need changes, and around machine rank 0, whose need for a socket no other rank has.
    size_t first = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      const int rank = order[i];
      const bool alike = i > 0 && order[i - 1] != 0 && needs[rank] == needs[order[i - 1]];
      if (rank == 0 || !alike) first = 0;
      const NodeOffer* node = candidates.At(first);
      while (node != nullptr && (used.contains(first) || !Fits(*node, rank, needs[rank], fit))) {
        node = candidates.At(++first);
      }
      if (node == nullptr) return std::nullopt;
      used.insert(first);
      match[rank] = node;
    }
    return match;
  }

  // Returns the same nodes in the order of rule 8.
  Match Arrange(Match match, const std::vector<int>& needs, Fit fit) const {
    if (last_ != nullptr) {
      if (auto kept = KeepRanks(match, needs, fit)) return *std::move(kept);
    }
    return InOrderOfLedger(std::move(match), needs, fit);
  }

  // Returns the same nodes, those of the last generation with the machine ranks that they had.
  // Returns nullopt if they do not fit in that order.
  std::optional<Match> KeepRanks(const Match& match, const std::vector<int>& needs, Fit fit) const {
    absl::flat_hash_map<absl::string_view, size_t> ranks;
    const size_t known = std::min(match.size(), static_cast<size_t>(last_->placements_size()));
    for (size_t i = 0; i < known; ++i) {
      ranks.emplace(last_->placements(static_cast<int>(i)).node_id(), i);
    }
    Match kept(match.size(), nullptr);
    Match others;
    for (const NodeOffer* node : match) {
      const auto rank = ranks.find(node->id.value());
      (rank == ranks.end() ? others.emplace_back() : kept[rank->second]) = node;
    }
    std::sort(others.begin(), others.end(), Ledger::InOrder());
    auto other = others.begin();
    if (kept[0] == nullptr) {
      // Not every node has the socket that machine rank 0 needs.
      const auto first = std::find_if(other, others.end(), [&](const NodeOffer* node) {
        return Fits(*node, 0, needs[0], fit);
      });
      if (first == others.end()) return std::nullopt;
      std::rotate(other, first, first + 1);
    }
    for (size_t rank = 0; rank < kept.size(); ++rank) {
      if (kept[rank] == nullptr) kept[rank] = *other++;
      if (!Fits(*kept[rank], static_cast<int>(rank), needs[rank], fit)) return std::nullopt;
    }
    return kept;
  }

  // Returns the same nodes in the ledger's order, except that the first of them that can be machine
  // rank 0 comes first. Returns `match` unchanged if they do not fit in that order.
  Match InOrderOfLedger(Match match, const std::vector<int>& needs, Fit fit) const {
    Match sorted = match;
    // Nodes that are equally preferred are in the ledger's order already.
    if (!std::is_sorted(sorted.begin(), sorted.end(), Ledger::InOrder())) {
      std::sort(sorted.begin(), sorted.end(), Ledger::InOrder());
    }
    for (size_t first = 0; first < sorted.size(); ++first) {
      if (!Fits(*sorted[first], 0, needs[0], fit)) continue;
      std::rotate(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(first),
                  sorted.begin() + static_cast<std::ptrdiff_t>(first) + 1);
      for (size_t rank = 1; rank < sorted.size(); ++rank) {
        if (!Fits(*sorted[rank], static_cast<int>(rank), needs[rank], fit)) return match;
      }
      return sorted;
    }
    return match;
  }

  const v1::JobSpec& spec_;
  const int nodes_;
  const std::set<common::NodeId>& avoid_;
  const v1::GenerationRecord* const last_;
  const Ledger& ledger_;
  const bool gpu_;
};

}  // namespace

PlacementDecision Place(const v1::JobSpec& spec, v1::Devices devices,
                        const std::set<common::NodeId>& avoid, const v1::GenerationRecord* last,
                        const Ledger& ledger) {
  using Wait = PlacementDecision::Wait;
  int nodes = spec.nodes();
  if (IsElastic(spec)) {
    const auto room = static_cast<int>(FindRoom(spec, devices, ledger).size());
    nodes = std::clamp(room, MinNodes(spec), spec.nodes());
  }
  const Request request(spec, nodes, devices, avoid, last, ledger);
  std::optional<Match> match = request.FindMatch(Fit::kWithStore);
  if (match.has_value()) return {request.Assign(*match), Wait::kNodes, ""};
  match = request.FindMatch(Fit::kNow);
  if (match.has_value()) {
    return {
        std::nullopt, Wait::kSocket,
        absl::StrCat("Waits for node ", match->front()->name, " to open a spare store socket.")};
  }
  if (request.FindMatch(Fit::kIdle).has_value()) {
    return {std::nullopt, Wait::kJobs, request.WhyNotNow()};
  }
  return {std::nullopt, Wait::kNodes, request.WhyNever()};
}

std::vector<const NodeOffer*> FindRoom(const v1::JobSpec& spec, v1::Devices devices,
                                       const Ledger& ledger) {
  return Request(spec, 1, devices, /*avoid=*/{}, /*last=*/nullptr, ledger).FindRoom();
}

}  // namespace accel::coordinator
