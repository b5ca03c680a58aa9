#include "coordinator/core/placement.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "coordinator/core/job_spec.h"

namespace accel::coordinator {
namespace {

constexpr int kAllGpus = 0;  // As a need: one process for each GPU of the node.

// By machine rank: every need is met by a node of its own.
using Match = std::vector<const NodeOffer*>;

// What a node must have to be chosen.
enum class Fit {
  kIdle,       // Room for its part, if nothing else ran.
  kNow,        // Room as it is now.
  kWithStore,  // And machine rank 0 a spare store socket, if the world needs one.
};

class Request {
 public:
  Request(const v1::JobSpec& spec, v1::Devices devices, const std::set<common::NodeId>& avoid,
          const Ledger& ledger)
      : spec_(spec), avoid_(avoid), ledger_(ledger), gpu_(devices == v1::ON_GPUS) {}

  // Processes of each machine rank.
  std::vector<int> Needs() const {
    std::vector<int> needs;
    for (int i = 0; i < spec_.nodes(); ++i) {
      const int entries = spec_.processes_per_node_size();
      needs.push_back(entries == 0 ? (gpu_ ? kAllGpus : 1)
                                   : spec_.processes_per_node(entries == 1 ? 0 : i));
    }
    return needs;
  }

  std::vector<int> Allowed(const std::vector<int>& gpus) const {
    if (spec_.gpu_ids().empty()) return gpus;
    std::vector<int> allowed;
    for (int gpu : gpus) {
      const auto& ids = spec_.gpu_ids();
      if (std::find(ids.begin(), ids.end(), gpu) != ids.end()) allowed.push_back(gpu);
    }
    return allowed;
  }

  // The nodes of each machine rank. By machine rank if that works out, else the largest need first:
  // nodes that can meet it can meet the smaller ones.
  std::optional<Match> FindMatch(Fit fit) const {
    const std::vector<int> needs = Needs();
    std::vector<int> order(needs.size());
    std::iota(order.begin(), order.end(), 0);
    const Match candidates = ByPreference();
    std::optional<Match> match = Deal(candidates, needs, order, fit);
    if (!match.has_value()) {
      std::stable_sort(order.begin(), order.end(),
                       [&needs](int a, int b) { return needs[a] > needs[b]; });
      match = Deal(candidates, needs, order, fit);
    }
    return match.has_value() ? InOrderOfNames(*std::move(match), needs, fit) : match;
  }

  std::string WhyNever() const {
    const size_t nodes = ledger_.offers().size();
    const std::string refusals =
        ledger_.refusals().empty() ? "" : absl::StrCat(" (", ledger_.refusals().front(), ")");
    if (nodes < static_cast<size_t>(spec_.nodes())) {
      return absl::StrCat("Needs ", spec_.nodes(), spec_.nodes() == 1 ? " node; " : " nodes; ",
                          nodes == 0 ? std::string("none") : absl::StrCat(nodes),
                          nodes == 1 ? " is" : " are", " connected and taking work", refusals, ".");
    }
    size_t most = 0;
    for (const NodeOffer& offer : ledger_.offers()) {
      most = std::max(most, Allowed(offer.gpus).size());
    }
    const std::vector<int> needs = Needs();
    const int largest = *std::max_element(needs.begin(), needs.end());
    const absl::string_view which = spec_.gpu_ids().empty() ? "" : " of those named in gpu_ids";
    if (largest == kAllGpus) {
      return absl::StrCat("Needs ", spec_.nodes(), spec_.nodes() == 1 ? " node" : " nodes",
                          " with GPUs", which,
                          "; fewer are connected. Ask for cpu to run without.");
    }
    return absl::StrCat("Needs a GPU for each process, up to ", largest, " on one node, on ",
                        spec_.nodes(), spec_.nodes() == 1 ? " node" : " nodes",
                        "; the largest connected node has ", most, which,
                        ". Ask for fewer processes, or for cpu to run without GPUs.");
  }

  std::string WhyNotNow() const {
    for (const NodeOffer& offer : ledger_.offers()) {
      if (!offer.busy.empty()) return absl::StrCat("Waits: ", offer.busy, ".");
    }
    return "Waits for GPUs that other jobs hold.";
  }

  Assignment Assign(const Match& match) const {
    const std::vector<int> needs = Needs();
    Assignment assignment;
    int rank = 0;
    for (size_t i = 0; i < match.size(); ++i) {
      const NodeOffer& offer = *match[i];
      const std::vector<int> gpus = Allowed(offer.free_gpus);
      const int processes = needs[i] == kAllGpus ? static_cast<int>(gpus.size()) : needs[i];
      v1::Placement& placement = assignment.placements.emplace_back();
      placement.set_node_id(offer.id.value());
      placement.set_node_name(offer.entry->observed.name());
      placement.set_incarnation(offer.entry->observed.incarnation());
      placement.set_address(offer.entry->observed.address());
      placement.set_first_rank(rank);
      placement.set_processes(processes);
      if (gpu_) placement.mutable_gpu_ids()->Add(gpus.begin(), gpus.begin() + processes);
      rank += processes;
    }
    if (rank == 1) return assignment;
    // The store is reached where its socket listens, by ranks of the same node too.
    const v1::StoreSocket* socket = FindSpareSocket(*match.front(), /*peers=*/match.size() > 1);
    ACCEL_CHECK(socket != nullptr, "a match with a store has a spare socket on machine rank 0");
    assignment.master_addr = socket->address();
    assignment.master_port = socket->port();
    assignment.placements.front().set_store_socket(socket->id());
    return assignment;
  }

 private:
  // Whether the node can be this machine rank, which needs so many processes.
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
    const bool peers = spec_.nodes() > 1;
    return (!peers && processes == 1) || FindSpareSocket(offer, peers) != nullptr;
  }

  // All nodes, those first that are to be taken first.
  Match ByPreference() const {
    Match nodes;
    for (const NodeOffer& offer : ledger_.offers()) nodes.push_back(&offer);
    std::stable_sort(nodes.begin(), nodes.end(), [this](const NodeOffer* a, const NodeOffer* b) {
      if (Avoids(*a) != Avoids(*b)) return Avoids(*b);
      if (gpu_) return false;
      return int64_t{a->ranks} * Cpus(*b) < int64_t{b->ranks} * Cpus(*a);
    });
    return nodes;
  }

  bool Avoids(const NodeOffer& offer) const { return avoid_.count(offer.id) != 0; }

  static int64_t Cpus(const NodeOffer& offer) {
    return std::max(1, offer.entry->observed.inventory().cpus());
  }

  // Each machine rank in turn takes the first node that is left and fits.
  std::optional<Match> Deal(const Match& candidates, const std::vector<int>& needs,
                            const std::vector<int>& order, Fit fit) const {
    Match match(needs.size(), nullptr);
    std::vector<bool> used(candidates.size(), false);
    size_t first = 0;  // Every node before it is used, or does not fit a need of this size.
    for (size_t i = 0; i < order.size(); ++i) {
      const int rank = order[i];
      const bool alike = i > 0 && order[i - 1] != 0 && needs[rank] == needs[order[i - 1]];
      if (rank == 0 || !alike) first = 0;
      while (first < used.size() &&
             (used[first] || !Fits(*candidates[first], rank, needs[rank], fit))) {
        ++first;
      }
      if (first == used.size()) return std::nullopt;
      used[first] = true;
      match[rank] = candidates[first];
    }
    return match;
  }

  // The same nodes by name, with the first that can be as machine rank 0, if they fit so.
  Match InOrderOfNames(Match match, const std::vector<int>& needs, Fit fit) const {
    Match named = match;
    // The ledger has them by name.
    std::sort(named.begin(), named.end());
    for (size_t first = 0; first < named.size(); ++first) {
      if (!Fits(*named[first], 0, needs[0], fit)) continue;
      std::rotate(named.begin(), named.begin() + static_cast<std::ptrdiff_t>(first),
                  named.begin() + static_cast<std::ptrdiff_t>(first) + 1);
      for (size_t rank = 1; rank < named.size(); ++rank) {
        if (!Fits(*named[rank], static_cast<int>(rank), needs[rank], fit)) return match;
      }
      return named;
    }
    return match;
  }

  const v1::JobSpec& spec_;
  const std::set<common::NodeId>& avoid_;
  const Ledger& ledger_;
  const bool gpu_;
};

}  // namespace

PlacementDecision Place(const v1::JobSpec& spec, v1::Devices devices,
                        const std::set<common::NodeId>& avoid, const Ledger& ledger) {
  using Wait = PlacementDecision::Wait;
  const Request request(spec, devices, avoid, ledger);
  std::optional<Match> match = request.FindMatch(Fit::kWithStore);
  if (match.has_value()) return {request.Assign(*match), Wait::kNodes, ""};
  match = request.FindMatch(Fit::kNow);
  if (match.has_value()) {
    return {std::nullopt, Wait::kSocket,
            absl::StrCat("Waits for node ", match->front()->entry->observed.name(),
                         " to open a spare store socket.")};
  }
  if (request.FindMatch(Fit::kIdle).has_value()) {
    return {std::nullopt, Wait::kJobs, request.WhyNotNow()};
  }
  return {std::nullopt, Wait::kNodes, request.WhyNever()};
}

}  // namespace accel::coordinator
