#include "runtime/testing/ranks.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <vector>

#include "runtime/testing/fork_server.h"

extern char** environ;

// LibTorch's store calls this function with the address of each client, for its log. Without an
// answer of DNS it would serve no client for 5 s or longer, so addresses are not looked up.
extern "C" int getnameinfo(const sockaddr* address, socklen_t address_size, char* host,
                           socklen_t host_size, char* service, socklen_t service_size, int flags) {
  static const auto original =
      reinterpret_cast<decltype(&getnameinfo)>(dlsym(RTLD_NEXT, "getnameinfo"));
  return original(address, address_size, host, host_size, service, service_size,
                  flags | NI_NUMERICHOST);
}

namespace accel::runtime {
namespace {

using Clock = std::chrono::steady_clock;

// The variable that tells a rank for which of the test's calls of on_ranks() it was started.
constexpr char kCall[] = "ACCEL_TEST_CALL";
// The variables that tell a rank how many ranks were started with it, and where their store is.
constexpr char kRanks[] = "ACCEL_TEST_RANKS";
constexpr char kStorePort[] = "ACCEL_TEST_STORE_PORT";

std::string test_name() {
  const testing::TestInfo* info = testing::UnitTest::GetInstance()->current_test_info();
  return std::string(info->test_suite_name()) + "." + info->name();
}

// Returns the environment of this process with these variables.
Variables environment_with(const Variables& variables) {
  Variables all = variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    all.emplace(text.substr(0, text.find('=')), text.substr(text.find('=') + 1));
  }
  // Only the parent writes Bazel's records.
  for (const char* name : {"XML_OUTPUT_FILE", "TEST_SHARD_INDEX", "TEST_TOTAL_SHARDS",
                           "TESTBRIDGE_TEST_ONLY", "TEST_PREMATURE_EXIT_FILE"}) {
    all.erase(name);
  }
  return all;
}

// Returns the server that starts this rank. Even and odd ranks have different servers, so their
// addresses differ, as they do in a launch: ranks must not depend on the order of pointers.
ForkServer& server_of(int rank, const Variables& environment) {
  static std::unique_ptr<ForkServer> servers[2];
  std::unique_ptr<ForkServer>& server = servers[rank % 2];
  if (server == nullptr) server = std::make_unique<ForkServer>(environment);
  return *server;
}

// Returns the wait status of `pid`, which is killed at the deadline.
int wait_until(pid_t pid, ForkServer& server, Clock::time_point deadline) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
  if (poll(&ready, 1, static_cast<int>(std::max<long>(0, left.count()))) == 0) kill(pid, SIGKILL);
  close(fd);
  return server.wait(pid);
}

// Returns the exit code of a wait status, or the signal's number times -1.
int end_of(int status) { return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status); }

void run_all(int world_size, int call, const Variables& extra, const Ends& ends) {
  c10d::TCPStoreOptions options;
  options.isServer = true;
  options.port = 0;
  const auto store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
  std::vector<Variables> environments;
  for (int rank = 0; rank < world_size; ++rank) {
    Variables variables{{kCall, std::to_string(call)},
                        {kRanks, std::to_string(world_size)},
                        {kStorePort, std::to_string(store->getPort())},
                        {"RANK", std::to_string(rank)},
                        {"LOCAL_RANK", std::to_string(rank)},
                        {"WORLD_SIZE", std::to_string(world_size)},
                        {"LOCAL_WORLD_SIZE", std::to_string(world_size)},
                        {"MASTER_ADDR", "127.0.0.1"},
                        {"MASTER_PORT", std::to_string(store->getPort())},
                        {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                        {"ACCELERATE_USE_CPU", "true"},
                        {"OMP_NUM_THREADS", "1"}};
    for (const auto& [name, value] : extra) variables[name] = value;
    environments.push_back(environment_with(variables));
    server_of(rank, environments.back());  // So that both servers are loaded at the same time.
  }
  std::vector<pid_t> pids;
  for (int rank = 0; rank < world_size; ++rank) {
    const Variables& environment = environments[static_cast<std::size_t>(rank)];
    pids.push_back(
        server_of(rank, environment).start("--gtest_filter=" + test_name(), environment));
  }
  auto deadline = Clock::now() + std::chrono::seconds(60);
  for (int rank = 0; rank < world_size; ++rank) {
    const int end = end_of(wait_until(pids[rank], server_of(rank, environments[rank]), deadline));
    const int expected = ends.contains(rank) ? ends.at(rank) : 0;
    EXPECT_EQ(end, expected) << "rank " << rank << " of " << world_size
                             << " (an exit code, or a signal's number times -1)";
    if (end != expected) deadline = std::min(deadline, Clock::now() + std::chrono::seconds(10));
  }
}

// Returns when every rank has been started. Otherwise a short timeout of the test would also have
// to cover the start of the other processes, which takes seconds on a busy machine.
void wait_for_all_ranks() {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(std::stoi(std::getenv(kStorePort)));
  c10d::TCPStore store("127.0.0.1", options);
  if (store.add("test_ranks_started", 1) == std::stoi(std::getenv(kRanks))) {
    store.set("test_may_begin", {1});
  }
  store.wait({"test_may_begin"}, std::chrono::seconds(60));
}

}  // namespace

bool on_ranks(int world_size, const std::function<void()>& body, const Variables& extra,
              const Ends& ends) {
  static std::map<std::string, int> calls;
  const int call = calls[test_name()]++;
  const char* started_for = std::getenv(kCall);
  if (started_for == nullptr) {
    run_all(world_size, call, extra, ends);
    return true;
  }
  if (started_for == std::to_string(call)) {
    wait_for_all_ranks();
    body();
  }
  return false;
}

}  // namespace accel::runtime
