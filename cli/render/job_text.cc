#include "cli/render/job_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/render/color.h"
#include "cli/render/escape.h"
#include "cli/render/phase_text.h"
#include "cli/render/table.h"
#include "cli/render/times.h"
#include "common/exit_text.h"

namespace accel::cli {
namespace {

absl::Time Moment(int64_t unix_ms) { return absl::FromUnixMillis(unix_ms); }

int RanksOf(const v1::GenerationRecord& generation) {
  int ranks = 0;
  for (const v1::Placement& placement : generation.placements()) ranks += placement.processes();
  return ranks;
}

// Returns the number of ranks of the newest generation. Before the first, returns the number that
// the job requests, or an empty string if the nodes will decide.
std::string Ranks(const v1::Job& job) {
  if (!job.generations().empty()) return absl::StrCat(RanksOf(*job.generations().rbegin()));
  const v1::JobSpec& spec = job.spec();
  if (spec.processes_per_node().empty()) return "";
  int64_t ranks = 0;
  for (int processes : spec.processes_per_node()) ranks += processes;
  if (spec.processes_per_node_size() == 1) ranks *= spec.nodes();
  return absl::StrCat(ranks);
}

std::string RanFor(int64_t start_ms, int64_t end_ms, absl::Time now) {
  if (start_ms == 0) return "";
  return DurationText((end_ms == 0 ? now : Moment(end_ms)) - Moment(start_ms));
}

std::string RanFor(const v1::Job& job, absl::Time now) {
  if (job.generations().empty()) return "";
  return RanFor(job.generations(0).started_unix_ms(), job.ended_unix_ms(), now);
}

std::string ExitCode(const v1::Job& job) {
  return HasEnded(job) ? absl::StrCat(job.exit_code()) : "";
}

// Green is good, red is failed, yellow is on the way, blue waits.
Color ColorOf(v1::JobPhase phase) {
  switch (phase) {
    case v1::RUNNING:
    case v1::SUCCEEDED:
      return Color::kGreen;
    case v1::FAILED:
      return Color::kRed;
    case v1::PENDING:
      return Color::kBlue;
    case v1::CANCELLED:
      return Color::kNone;
    default:
      return Color::kYellow;
  }
}

std::string ProcessesPerNode(const v1::JobSpec& spec) {
  if (spec.processes_per_node().empty()) return "one per GPU, or one";
  return absl::StrJoin(spec.processes_per_node(), ", ");
}

std::string Nodes(const v1::JobSpec& spec) {
  if (spec.min_nodes() == 0) return absl::StrCat(spec.nodes());
  return absl::StrCat(spec.min_nodes(), " to ", spec.nodes());
}

// Returns, for example, "2 (restarts: at most 5 in 1h)".
std::string Failures(const v1::Job& job) {
  const v1::JobSpec& spec = job.spec();
  const std::string window =
      spec.restart_window_ms() == 0
          ? ""
          : absl::StrCat(" in ", DurationText(absl::Milliseconds(spec.restart_window_ms())));
  return absl::StrCat(job.failures(), " (restarts: at most ", spec.max_restarts(), window, ")");
}

std::string Plural(int64_t count, absl::string_view one, absl::string_view many) {
  return absl::StrCat(count, " ", count == 1 ? one : many);
}

std::string RankRange(const v1::Placement& placement) {
  const int first = placement.first_rank();
  if (placement.processes() == 1) return absl::StrCat("rank ", first);
  return absl::StrCat("ranks ", first, " to ", first + placement.processes() - 1);
}

// Renders "generation 2: 7 ranks, ran 12 s, exit code 3", then a line per node and the cause.
std::string RenderGeneration(const v1::GenerationRecord& generation, absl::Time now) {
  const bool ended = generation.ended_unix_ms() != 0;
  std::string text = absl::StrCat("\ngeneration ", generation.generation(), ": ",
                                  Plural(RanksOf(generation), "rank", "ranks"));
  const std::string ran = RanFor(generation.started_unix_ms(), generation.ended_unix_ms(), now);
  if (!ran.empty()) absl::StrAppend(&text, ended ? ", ran " : ", for ", ran);
  if (ended) absl::StrAppend(&text, ", exit code ", generation.exit_code());
  absl::StrAppend(&text, "\n");
  Table nodes({{""}, {""}, {""}});
  for (const v1::Placement& placement : generation.placements()) {
    std::vector<std::string> cells = {absl::StrCat("  node ", placement.node_name()),
                                      RankRange(placement)};
    if (!placement.gpu_ids().empty()) {
      cells.push_back(absl::StrCat("GPUs ", absl::StrJoin(placement.gpu_ids(), ",")));
    }
    nodes.AddRow(std::move(cells));
  }
  text += nodes.Render();
  if (generation.refused_peers() > 0) {
    absl::StrAppend(&text, "  its store refused ",
                    Plural(generation.refused_peers(), "connection", "connections"),
                    " of hosts or users that have no part in the job\n");
  }
  if (!generation.has_cause()) return text;
  absl::StrAppend(&text, "  ", EscapeControls(common::DescribeFailure(generation.cause())), "\n");
  for (const std::string& line : generation.cause().last_lines()) {
    absl::StrAppend(&text, "    | ", EscapeControls(line), "\n");
  }
  if (generation.cause().later().ranks() > 0) {
    absl::StrAppend(&text, "  after it, ", common::DescribeLater(generation.cause().later()), "\n");
  }
  return text;
}

}  // namespace

std::string RenderJobs(const v1::ListJobsResponse& jobs, absl::Time now, bool color) {
  if (jobs.jobs().empty()) return "no jobs\n";
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"JOB"},
               {"NAME"},
               {"OWNER"},
               {"PHASE"},
               {"NODES", kRight},
               {"RANKS", kRight},
               {"GENERATION", kRight},
               {"SUBMITTED", kRight},
               {"RAN", kRight},
               {"EXIT", kRight},
               {"REASON", Table::Align::kLeft, kWidestReason}});
  for (const v1::Job& job : jobs.jobs()) {
    table.AddRow(
        {job.job_id(), job.spec().name(), job.spec().owner(), PhaseText(job.phase()),
         Nodes(job.spec()), Ranks(job),
         job.generations().empty() ? "" : absl::StrCat(job.generations().rbegin()->generation()),
         AgoText(Moment(job.submitted_unix_ms()), now), RanFor(job, now), ExitCode(job),
         job.reason()});
    table.Paint(3, ColorOf(job.phase()));
  }
  return table.Render(color);
}

std::string RenderJob(const v1::Job& job, absl::Time now, bool color) {
  const v1::JobSpec& spec = job.spec();
  Table facts({{""}, {""}});
  facts.AddRow({"job", job.job_id()});
  facts.AddRow({"name", spec.name()});
  facts.AddRow({"owner", spec.owner()});
  if (!spec.runs_as().empty()) facts.AddRow({"runs as", spec.runs_as()});
  facts.AddRow({"phase", PhaseText(job.phase())});
  facts.Paint(1, ColorOf(job.phase()));
  facts.AddRow({"reason", job.reason()});
  if (HasEnded(job)) facts.AddRow({"exit code", ExitCode(job)});
  // Those who may not know the command get none.
  if (!spec.argv().empty()) facts.AddRow({"command", absl::StrJoin(spec.argv(), " ")});
  facts.AddRow({"workdir", spec.workdir()});
  facts.AddRow({"nodes", Nodes(spec)});
  facts.AddRow({"processes per node", ProcessesPerNode(spec)});
  facts.AddRow({"failures", Failures(job)});
  if (job.membership_changes() > 0) {
    facts.AddRow({"nodes lost or joined", absl::StrCat(job.membership_changes(), " times")});
  }
  if (spec.time_limit_ms() > 0) {
    facts.AddRow({"time limit", DurationText(absl::Milliseconds(spec.time_limit_ms()))});
  }
  facts.AddRow({"submitted", AgoText(Moment(job.submitted_unix_ms()), now)});
  facts.AddRow({"ran", RanFor(job, now)});
  std::string text = facts.Render(color);
  for (const v1::GenerationRecord& generation : job.generations()) {
    text += RenderGeneration(generation, now);
  }
  return text;
}

}  // namespace accel::cli
