#include "runtime/testing/fork_server.h"

#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <system_error>
#include <vector>

extern char** environ;

namespace accel::runtime {
namespace {

// The variable that makes a process the server. It has the number of the server's socket.
constexpr char kSocket[] = "ACCEL_TEST_FORK_SERVER";

// Sanitizers report leaks and races when the shared libraries are done.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

// If `wait_for` is 0, `size` bytes follow: the argument and the variables of a new process, each
// with a NUL at its end. The answer is its pid. Otherwise the answer is the wait status of
// `wait_for`.
struct Request {
  pid_t wait_for = 0;
  std::uint32_t size = 0;
};

bool read_all(int socket, void* to, std::size_t size) {
  return size == 0 || recv(socket, to, size, MSG_WAITALL) == static_cast<ssize_t>(size);
}

bool write_all(int socket, const void* from, std::size_t size) {
  return send(socket, from, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}

int answer_to(int socket, const Request& request, const std::string& text) {
  int answer = 0;
  if (!write_all(socket, &request, sizeof(request)) ||
      !write_all(socket, text.data(), text.size()) || !read_all(socket, &answer, sizeof(answer))) {
    throw std::system_error(errno, std::generic_category(), "the fork server has ended");
  }
  return answer;
}

// Replaces the argument and the environment of this process.
void become(const std::string& text, char** argv) {
  // Never deleted, because the environment is read until the end of the process.
  static auto* const strings = new std::vector<std::string>;
  static auto* const variables = new std::vector<char*>;
  for (std::size_t begin = 0, end; begin < text.size(); begin = end + 1) {
    end = text.find('\0', begin);
    strings->push_back(text.substr(begin, end - begin));
  }
  argv[1] = strings->front().data();
  for (std::size_t i = 1; i < strings->size(); ++i) variables->push_back((*strings)[i].data());
  variables->push_back(nullptr);
  environ = variables->data();
}

// Ends the process without the destructors of its shared libraries. LibTorch's deregister thousands
// of operators one by one, which is half of what a small rank computes. on_exit() calls this after
// all destructors of the program itself, because their objects are made later.
void end(int status, void*) {
  std::fflush(nullptr);
  _exit(status);
}

// Returns only in processes that are not the server: in those that it forks, and in a test.
// Runs before main(), which gets the same `argv`. 101 is the earliest priority that a program may
// use, so each process initializes the objects of this program in its own environment.
[[gnu::constructor(101)]] void serve(int, char** argv, char**) {
  const char* number = std::getenv(kSocket);
  if (number == nullptr) return;
  const int socket = std::atoi(number);
  for (Request request; read_all(socket, &request, sizeof(request));) {
    int answer = 0;
    if (request.wait_for != 0) {
      waitpid(request.wait_for, &answer, 0);
    } else {
      std::string text(request.size, '\0');
      if (!read_all(socket, text.data(), text.size())) break;
      answer = fork();
      if (answer == 0) {
        close(socket);
        become(text, argv);
        if (!kIsSanitized) on_exit(end, nullptr);
        return;
      }
    }
    if (!write_all(socket, &answer, sizeof(answer))) break;
  }
  _exit(0);  // The test has ended.
}

}  // namespace

ForkServer::ForkServer(Variables environment) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  socket_.reset(ends[0]);
  const common::UniqueFd theirs(ends[1]);
  environment[kSocket] = std::to_string(ends[1]);
  std::vector<std::string> texts;
  for (const auto& [name, value] : environment) texts.push_back(name + "=" + value);
  std::vector<char*> variables;
  for (std::string& text : texts) variables.push_back(text.data());
  variables.push_back(nullptr);
  std::string program = "/proc/self/exe", replaced = "-";
  char* arguments[] = {program.data(), replaced.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // Onto itself, which keeps it open in the new program.
  posix_spawn_file_actions_adddup2(&actions, ends[1], ends[1]);
  const int error =
      posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments, variables.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::system_error(error, std::generic_category(), program);
}

ForkServer::~ForkServer() {
  socket_.reset();
  waitpid(pid_, nullptr, 0);
}

pid_t ForkServer::start(const std::string& argument, const Variables& environment) {
  std::string text = argument + '\0';
  for (const auto& [name, value] : environment) text += name + "=" + value + '\0';
  const auto size = static_cast<std::uint32_t>(text.size());
  const pid_t pid = answer_to(socket_.get(), {.wait_for = 0, .size = size}, text);
  if (pid < 0) throw std::runtime_error("the fork server cannot fork");
  return pid;
}

int ForkServer::wait(pid_t pid) { return answer_to(socket_.get(), {.wait_for = pid}, ""); }

}  // namespace accel::runtime
