#include "coordinator/core/placement.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "coordinator/core/job_spec.h"

namespace accel {
namespace {

constexpr char kLoopback[] = "127.0.0.1";
constexpr int kAllGpus = 0;  // As a need: one process for each GPU of the node.

// Every need is met by a node of its own.
using Match = std::vector<const NodeOffer*>;

class Request {
 public:
  Request(const v1::JobSpec& spec, const Ledger& ledger)
      : spec_(spec), ledger_(ledger), gpu_(UsesGpus(spec, ledger)) {}

  bool gpu() const { return gpu_; }

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

  // Whether the node could take this many: with nothing else on it, or as it is now.
  bool Fits(const NodeOffer& offer, int need, bool idle) const {
    if (!idle && !offer.busy.empty()) return false;
    if (!gpu_) return true;
    const size_t all = Allowed(offer.gpus).size();
    const size_t have = idle ? all : Allowed(offer.free_gpus).size();
    return need == kAllGpus ? all > 0 && have == all : have >= static_cast<size_t>(need);
  }

  // By machine rank if that works out, else the largest need first: nodes that can meet it can meet
  // the smaller ones.
  std::optional<Match> FindMatch(bool idle) const {
    const std::vector<int> needs = Needs();
    std::vector<int> order(needs.size());
    std::iota(order.begin(), order.end(), 0);
    if (std::optional<Match> match = Deal(needs, order, idle)) return match;
    std::stable_sort(order.begin(), order.end(),
                     [&needs](int a, int b) { return needs[a] > needs[b]; });
    return Deal(needs, order, idle);
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

  std::vector<v1::Placement> MakePlacements(const Match& match) const {
    const std::vector<int> needs = Needs();
    std::vector<v1::Placement> placements;
    int rank = 0;
    for (size_t i = 0; i < match.size(); ++i) {
      const NodeOffer& offer = *match[i];
      const std::vector<int> gpus = Allowed(offer.free_gpus);
      const int processes = needs[i] == kAllGpus ? static_cast<int>(gpus.size()) : needs[i];
      v1::Placement& placement = placements.emplace_back();
      placement.set_node_id(offer.id.value());
      placement.set_node_name(offer.entry->observed.name());
      placement.set_incarnation(offer.entry->observed.incarnation());
      placement.set_first_rank(rank);
      placement.set_processes(processes);
      if (gpu_) placement.mutable_gpu_ids()->Add(gpus.begin(), gpus.begin() + processes);
      rank += processes;
    }
    return placements;
  }

 private:
  // Each need in turn takes the first node that is left and fits.
  std::optional<Match> Deal(const std::vector<int>& needs, const std::vector<int>& order,
                            bool idle) const {
    Match match(needs.size(), nullptr);
    std::vector<bool> used(ledger_.offers().size(), false);
    size_t first = 0;  // Every node before it is used, or does not fit a need of this size.
    for (size_t i = 0; i < order.size(); ++i) {
      const int need = needs[order[i]];
      if (i > 0 && need != needs[order[i - 1]]) first = 0;
      while (first < used.size() && (used[first] || !Fits(ledger_.offers()[first], need, idle))) {
        ++first;
      }
      if (first == used.size()) return std::nullopt;
      used[first] = true;
      match[order[i]] = &ledger_.offers()[first];
    }
    return match;
  }

  const v1::JobSpec& spec_;
  const Ledger& ledger_;
  const bool gpu_;
};

}  // namespace

bool UsesGpus(const v1::JobSpec& spec, const Ledger& ledger) {
  return !spec.cpu() && (ledger.any_gpus() || !spec.gpu_ids().empty());
}

PlacementDecision Place(const v1::JobSpec& spec, const Ledger& ledger) {
  PlacementDecision decision;
  const Request request(spec, ledger);
  const std::optional<Match> match = request.FindMatch(/*idle=*/false);
  if (!match.has_value()) {
    decision.fits_idle_cluster = request.FindMatch(/*idle=*/true).has_value();
    decision.reason = decision.fits_idle_cluster ? request.WhyNotNow() : request.WhyNever();
    return decision;
  }
  decision.fits_idle_cluster = true;
  Assignment assignment;
  assignment.placements = request.MakePlacements(*match);
  const v1::Placement& last = assignment.placements.back();
  if (last.first_rank() + last.processes() > 1) {
    const NodeOffer& first = *match->front();
    assignment.master_addr = match->size() == 1 ? kLoopback : first.entry->observed.address();
    const v1::StoreSocket* socket = FindSpareSocket(first, assignment.master_addr);
    if (socket == nullptr) {
      decision.reason = absl::StrCat("Waits for node ", first.entry->observed.name(),
                                     " to open a spare store socket.");
      return decision;
    }
    assignment.master_port = socket->port();
    assignment.placements.front().set_store_socket(socket->id());
  }
  decision.assignment = std::move(assignment);
  return decision;
}

}  // namespace accel
