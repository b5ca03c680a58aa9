#include "bench/store/server_process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/check.h"

extern char** environ;

namespace accel::bench {

ServerProcess::ServerProcess(const std::string& path) {
  int in[2], out[2];
  ACCEL_CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0, "no pipe");
  stdin_.reset(in[1]);
  common::UniqueFd child_in(in[0]), child_out(out[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  char* const argv[] = {const_cast<char*>(path.c_str()), nullptr};
  const int error = posix_spawn(&pid_, path.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    std::fprintf(stderr, "cannot start %s: build it, with its Bazel target\n", path.c_str());
    std::exit(2);
  }
  FILE* lines = fdopen(out[0], "r");
  int port = 0;
  // The parent's copy must be closed, because it would keep the pipe open if the server
  // exits without output.
  child_out.reset();
  ACCEL_CHECK(std::fscanf(lines, "%d", &port) == 1, "the server printed no port");
  std::fclose(lines);
  port_ = static_cast<uint16_t>(port);
}

ServerProcess::~ServerProcess() {
  stdin_.reset();
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
}

double ServerProcess::CpuSeconds() const {
  clockid_t clock;
  timespec time;
  ACCEL_CHECK(clock_getcpuclockid(pid_, &clock) == 0 && clock_gettime(clock, &time) == 0,
              "the server is gone");
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

int64_t ServerProcess::ResidentKiB() const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmRSS:", 0) == 0) return std::atoll(line.c_str() + 6);
  }
  return -1;
}

void ServerProcess::Pin(int cpu) const {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  for (int each = 0; each < CPU_SETSIZE; ++each) {
    if (cpu < 0 || each == cpu) CPU_SET(each, &cpus);
  }
  const std::string tasks = "/proc/" + std::to_string(pid_) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks)) {
    const pid_t thread = std::atoi(task.path().filename().c_str());
    ACCEL_CHECK(sched_setaffinity(thread, sizeof(cpus), &cpus) == 0, "no such CPU");
  }
}

}  // namespace accel::bench
