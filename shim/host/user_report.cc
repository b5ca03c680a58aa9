#include "shim/host/user_report.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "common/printable.h"
#include "logs/core/tail_lines.h"

namespace accel::shim {
namespace {

constexpr size_t kMaxTextBytes = 4096;  // The bound that ExitFact documents.

std::string Bounded(const std::string& text) {
  return common::Shortened(common::Printable(common::Shortened(text, kMaxTextBytes)),
                           kMaxTextBytes);
}

std::optional<ExitFact> Bounded(std::optional<ExitFact> fact) {
  if (fact) fact->message = Bounded(fact->message);
  return fact;
}

}  // namespace

GenerationReport Believed(const GenerationReport& said, const ShimRecord& record) {
  GenerationReport report = ReportFrom(said.id.job, record);
  report.state = said.state;
  report.failure = Bounded(said.failure);
  report.shim_is_leaving = said.shim_is_leaving;
  report.checkpoints = std::max<int64_t>(said.checkpoints, 0);
  report.refused_peers = std::max<int64_t>(said.refused_peers, 0);
  const size_t known = std::min(report.workers.size(), said.workers.size());
  for (size_t i = 0; i < known; ++i) {
    const WorkerReport& from = said.workers[i];
    WorkerReport& to = report.workers[i];
    to.pid = from.pid;
    to.start_time_ticks = from.start_time_ticks;
    to.exit = Bounded(from.exit);
    to.ended_at = from.ended_at;
    to.last_lines = logs::LastLinesOf(absl::StrJoin(from.last_lines, "\n"));
  }
  return report;
}

}  // namespace accel::shim
