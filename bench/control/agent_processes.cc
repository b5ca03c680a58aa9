#include "bench/control/agent_processes.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>

#include "bench/control/exit_on_error.h"
#include "bench/control/simulated_agents.h"

namespace accel::bench {
namespace {

constexpr int kProcesses = 4;
// Maximum number of agents of all processes that connect at the same time.
constexpr size_t kConnecting = 64;

// Handles SIGCHLD. A figure that was measured with fewer agents would be wrong.
void EndWithAgents(int) {
  constexpr char kMessage[] = "cluster_load: a process of agents has ended\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
  _exit(1);
}

// The end of the pipe is the end of the address.
std::string ReadAll(int fd) {
  std::string all;
  char bytes[256];
  for (ssize_t n; (n = read(fd, bytes, sizeof bytes)) > 0;) {
    all.append(bytes, static_cast<size_t>(n));
  }
  return all;
}

[[noreturn]] void Run(int commands, int answers, int first, int agents) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::string address = ReadAll(commands);
  if (address.empty()) _exit(1);  // The parent has ended.
  SimulatedAgents(address, first, agents).Run(kConnecting / kProcesses, [answers] {
    if (write(answers, "1", 1) != 1) _exit(1);
  });
}

}  // namespace

AgentProcesses::AgentProcesses(int agents) {
  signal(SIGCHLD, EndWithAgents);
  signal(SIGPIPE, SIG_IGN);
  for (int i = 0; i < kProcesses; ++i) {
    const int first = agents * i / kProcesses;
    const int next = agents * (i + 1) / kProcesses;
    if (first == next) continue;
    int commands[2];
    int answers[2];
    if (pipe(commands) != 0 || pipe(answers) != 0) Fail("cannot make a pipe");
    const pid_t pid = fork();
    if (pid < 0) Fail("cannot fork");
    if (pid == 0) {
      // A copy of the writing end would keep the address of another process from ending.
      for (const Process& other : processes_) close(other.commands);
      close(commands[1]);
      Run(commands[0], answers[1], first, next - first);
    }
    close(commands[0]);
    close(answers[1]);
    processes_.push_back({pid, commands[1], answers[0]});
  }
}

void AgentProcesses::Connect(const std::string& address) {
  for (Process& process : processes_) {
    if (write(process.commands, address.data(), address.size()) !=
        static_cast<ssize_t>(address.size())) {
      Fail("cannot reach a process of agents");
    }
    close(process.commands);
  }
  for (const Process& process : processes_) {
    char byte = 0;
    if (read(process.answers, &byte, 1) != 1) Fail("cannot reach a process of agents");
  }
}

}  // namespace accel::bench
