#include "cli/completion/completion_command.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/completion/complete_words.h"
#include "cli/completion/scripts.h"
#include "cli/connect.h"
#include "cli/render/escape.h"
#include "cli/render/phase_text.h"

namespace accel::cli {
namespace {

constexpr int kLimitMs = 700;        // A person waits at the prompt for this long at most.
constexpr int kMaxCandidates = 500;  // More fill the screen several times.

// Ends this process without an error after the limit. A deadline of a call would not do, because
// looking up the coordinator's name can block for longer.
void LimitThisProcess() {
  signal(SIGALRM, [](int) { _exit(0); });
  itimerval limit = {};
  limit.it_value.tv_usec = kLimitMs * 1000;
  setitimer(ITIMER_REAL, &limit, nullptr);
}

// Returns the connection that the unfinished command names by its flags.
ConnectionFlags ConnectionOf(const std::vector<std::string>& words) {
  ConnectionFlags connection;
  FlagSet known("", "", "");
  AddConnectionFlags(&known, &connection);
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    const bool has_value = absl::StrContains(words[i], '=');
    std::vector<std::string> pair = {words[i]};
    if (!has_value) pair.push_back(words[i + 1]);
    (void)known.Parse(pair);  // Any other word is an error without effect.
  }
  return connection;
}

void PrintJobs(CoordinatorClient& client, const std::string& prefix, const Console& console) {
  const auto jobs = client.ListJobs("");
  if (!jobs.ok()) return;
  for (int i = jobs->jobs_size(), left = kMaxCandidates; i-- > 0 && left > 0; --left) {
    const v1::Job& job = jobs->jobs(i);
    console.out << prefix << EscapeControls(job.job_id()) << "\t"
                << EscapeControls(absl::StrCat(PhaseText(job.phase()), " ", job.spec().name()))
                << "\n";
  }
}

void PrintNodes(CoordinatorClient& client, const std::string& prefix, const Console& console) {
  const auto nodes = client.ListNodes();
  if (!nodes.ok()) return;
  for (int i = 0; i < nodes->nodes_size() && i < kMaxCandidates; ++i) {
    console.out << prefix << EscapeControls(nodes->nodes(i).name()) << "\t"
                << EscapeControls(nodes->nodes(i).address()) << "\n";
  }
}

common::CommandHelp DescribeCommand(const Command& command, const std::vector<std::string>& words,
                                    const Console& console) {
  common::CommandHelp help;
  Console asking{console.out, console.err, false,
                 [&help](const FlagSet& flags) { help = flags.Describe(); }};
  command.run({words.begin() + 1, words.end()}, asking);
  return help;
}

// Prints one word a line, each followed by a tab and its description; ":files" or ":folders" asks
// the shell for names of its own. Never prints an error, because it would stand on the prompt.
int PrintCandidates(const std::vector<Command>& commands, const std::vector<std::string>& words,
                    const Console& console) {
  LimitThisProcess();
  const Completion completion = CompleteWords(
      commands, words, [&console](const Command& command, const std::vector<std::string>& typed) {
        return DescribeCommand(command, typed, console);
      });
  for (const Candidate& candidate : completion.candidates) {
    console.out << candidate.word << "\t" << candidate.about << "\n";
  }
  if (completion.follows == Follows::kFiles) console.out << ":files\n";
  if (completion.follows == Follows::kFolders) console.out << ":folders\n";
  console.out << std::flush;
  if (completion.follows != Follows::kJobs && completion.follows != Follows::kNodes) return kExitOk;
  const auto client = ConnectToCoordinator(ConnectionOf(words));
  if (!client.ok()) return kExitOk;
  const bool jobs = completion.follows == Follows::kJobs;
  (jobs ? PrintJobs : PrintNodes)(**client, completion.prefix, console);
  console.out << std::flush;
  return kExitOk;
}

}  // namespace

int RunCompletion(const std::vector<Command>& commands, const std::vector<std::string>& args,
                  const Console& console) {
  // The words are not flags of this command, even if they look like some.
  if (!args.empty() && args[0] == "candidates" && !console.describe) {
    return PrintCandidates(commands, {args.begin() + 1, args.end()}, console);
  }
  std::string shell;
  FlagSet flags("accel completion", "bash|zsh|fish",
                "Prints a script that lets a shell complete the commands of accel, their flags and "
                "values, and the ids of jobs and names of nodes, which the coordinator is asked "
                "for. The script asks `accel completion candidates WORD…`, which prints what may "
                "stand for the last WORD.");
  flags.Argument("bash|zsh|fish", /*required=*/true, &shell);
  flags.Footer(
      "To load it into the present shell:\n"
      "  bash  source <(accel completion bash)\n"
      "  zsh   source <(accel completion zsh)\n"
      "  fish  accel completion fish | source\n\n"
      "Exit codes: 0; 2: wrong usage.");
  if (const auto over = ParseOrExplain(flags, args, console)) return *over;
  for (const auto& [name, script] : {std::pair{"bash", kBashScript}, std::pair{"zsh", kZshScript},
                                     std::pair{"fish", kFishScript}}) {
    if (shell != name) continue;
    console.out << script;
    return kExitOk;
  }
  return Fail(console, absl::InvalidArgumentError(
                           absl::StrCat("there is no script for the shell \"", shell,
                                        "\"; there are scripts for bash, zsh and fish")));
}

}  // namespace accel::cli
