#include "cli/render/node_text.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "cli/render/escape.h"
#include "cli/render/table.h"
#include "cli/render/times.h"

namespace accel::cli {
namespace {

std::string State(const v1::NodeStatus& node) {
  if (!node.connected()) return "not connected";
  if (node.drain() != v1::NOT_DRAINED) return node.running().empty() ? "drained" : "draining";
  return node.refuses_work().empty() ? "ready" : "takes no new work";
}

Color ColorOfState(const v1::NodeStatus& node) {
  if (!node.connected()) return Color::kRed;
  const bool works = node.drain() == v1::NOT_DRAINED && node.refuses_work().empty();
  return works ? Color::kGreen : Color::kYellow;
}

std::string Gpus(const v1::NodeStatus& node) {
  const int all = node.inventory().gpus_size();
  return all == 0 ? "0" : absl::StrCat(node.gpus_in_use_size(), "/", all);
}

std::string Running(const v1::NodeStatus& node) {
  return absl::StrJoin(node.running(), ", ", [](std::string* out, const v1::GenerationKey& key) {
    absl::StrAppend(out, key.job_id(), "/", key.generation());
  });
}

// Returns a sentence for each account as which some nodes run the jobs of all users.
std::string SharedAccounts(const v1::ListNodesResponse& nodes) {
  std::map<std::string, std::vector<std::string>> sharing;
  for (const v1::NodeStatus& node : nodes.nodes()) {
    if (!node.runs_all_as().empty()) sharing[node.runs_all_as()].push_back(node.name());
  }
  std::string text;
  for (const auto& [account, names] : sharing) {
    absl::StrAppend(&text, "Jobs of all users run as ", EscapeControls(account), " on ",
                    EscapeControls(absl::StrJoin(names, ", ")), ", where the agent is not root.\n");
  }
  return text;
}

}  // namespace

std::string RenderNodes(const v1::ListNodesResponse& nodes, bool color) {
  if (nodes.nodes().empty()) return "no nodes\n";
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"NODE"},
               {"ADDRESS"},
               {"STATE"},
               {"CPUS", kRight},
               {"MEMORY", kRight},
               {"GPUS", kRight},
               {"VERSION"},
               {"JOBS"},
               {"REASON", Table::Align::kLeft, kWidestReason}});
  for (const v1::NodeStatus& node : nodes.nodes()) {
    table.AddRow({node.name(), node.address(), State(node), absl::StrCat(node.inventory().cpus()),
                  BytesText(node.inventory().memory_bytes()), Gpus(node), node.version(),
                  Running(node), node.refuses_work()});
    table.Paint(2, ColorOfState(node));
  }
  std::string text = table.Render(color) + SharedAccounts(nodes);
  if (nodes.node_timeout_ms() == 0) return text;  // From an older coordinator.
  return absl::StrCat(
      text, "A node reports at least every ",
      absl::FormatDuration(absl::Milliseconds(nodes.heartbeat_ms())), ", and is lost after ",
      absl::FormatDuration(absl::Milliseconds(nodes.node_timeout_ms())), " of silence.\n");
}

}  // namespace accel::cli
