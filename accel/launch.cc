#include "accel/launch.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <system_error>

#include "runtime/error_text.h"
#include "runtime/process/launched_call.h"
#include "runtime/process/read_environment.h"

namespace accel {
namespace {

// Set for workers: the folder of all calls of the caller, and the number of the one to execute.
constexpr char kFolder[] = "ACCEL_CALLS_DIR";
constexpr char kNumber[] = "ACCEL_CALLS_NUMBER";

// The folder of this program's calls, which is removed when the program exits.
class CallsFolder {
 public:
  CallsFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "accel.calls.XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error("accel::launch: cannot make " + pattern + ": " +
                               std::strerror(errno));
    }
    path_ = pattern;
  }
  ~CallsFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string call_folder(const std::string& calls, int number) {
  return calls + "/" + std::to_string(number);
}

std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

std::vector<std::string> command_line(const LaunchOptions& options, const std::string& end_file) {
  std::vector<std::string> words = {
      !options.program.empty() ? options.program
                               : runtime::environment_variable("ACCEL_PROGRAM").value_or("accel"),
      "launch",
      "--parent=" + std::to_string(getpid()),
      "--end_file=" + end_file,
      "--num_processes=" + std::to_string(options.num_processes),
      "--max_restarts=" + std::to_string(options.max_restarts)};
  if (options.cpu) words.push_back("--cpu");
  words.insert(words.end(), options.flags.begin(), options.flags.end());
  words.insert(words.end(), {"--no_python", std::filesystem::read_symlink("/proc/self/exe")});
  std::vector<std::string> own = own_arguments();
  if (!own.empty()) words.insert(words.end(), own.begin() + 1, own.end());
  return words;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> found;
  for (std::string& text : texts) found.push_back(text.data());
  found.push_back(nullptr);
  return found;
}

// Runs a command with these variables in addition. Returns its exit code, or 128 + its signal.
int run(std::vector<std::string> words, std::vector<std::string> variables) {
  for (char** each = environ; *each != nullptr; ++each) variables.emplace_back(*each);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, words[0].c_str(), &files, nullptr, pointers(words).data(),
                                 pointers(variables).data());
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    throw std::runtime_error("accel::launch: cannot execute " + words[0] + ": " +
                             std::strerror(error) + "; install it, or set ACCEL_PROGRAM");
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Executes the call in a worker (docs/decisions/0071). Does not return.
[[noreturn]] void work(const runtime::LaunchedCall& call,
                       const std::function<std::string()>& function) {
  const int rank = std::atoi(runtime::environment_variable("RANK").value_or("0").c_str());
  int code = 0;
  try {
    call.keep_result(rank, function());
  } catch (const std::exception& error) {
    const std::string text = runtime::error_text(error);
    std::cerr << text << std::endl;
    call.keep_error(runtime::environment_variable("ACCEL_GENERATION").value_or("0"), rank, text);
    code = 1;
  }
  std::exit(code);
}

// Returns the number of ranks that have kept a result, in a worker of a later call.
int kept_results(const runtime::LaunchedCall& call) {
  int world = 0;
  while (call.result(world).has_value()) ++world;
  return world;
}

void check(const LaunchOptions& options) {
  if (options.num_processes < 1) {
    throw std::invalid_argument("accel::launch: num_processes must be at least 1, not " +
                                std::to_string(options.num_processes));
  }
  if (options.max_restarts < 0) {
    throw std::invalid_argument("accel::launch: max_restarts must not be negative, not " +
                                std::to_string(options.max_restarts));
  }
}

// Starts the workers of a call and waits for them.
std::vector<std::string> call_workers(const std::string& calls, int number,
                                      const LaunchOptions& options) {
  std::filesystem::create_directory(call_folder(calls, number));
  const runtime::LaunchedCall call(call_folder(calls, number));
  std::cout << std::flush;
  std::fflush(nullptr);  // Otherwise what is written before may come after the workers' output.
  const int code = run(
      command_line(options, call.end_file()),
      {std::string(kFolder) + "=" + calls, std::string(kNumber) + "=" + std::to_string(number)});
  try {
    if (code != 0) throw call.first_error(code);
    return call.results(options.num_processes);
  } catch (const LaunchError& error) {
    call.keep_failure(error);
    throw;
  }
}

}  // namespace

bool is_launched() { return runtime::environment_variable(kNumber).has_value(); }

namespace runtime {

std::vector<std::string> launch_bytes(const std::function<std::string()>& function,
                                      const LaunchOptions& options) {
  static std::atomic<int> next_number = 1;
  static std::atomic<bool> working = false;
  check(options);
  if (working) throw std::logic_error("accel::launch: called by a function that it runs");
  const int number = next_number++;
  if (!is_launched()) {
    static const CallsFolder folder;
    return call_workers(folder.path(), number, options);
  }
  const LaunchedCall call(call_folder(environment_variable(kFolder).value_or(""), number));
  if (number == std::atoi(environment_variable(kNumber)->c_str())) {
    working = true;
    work(call, function);
  }
  if (const auto failure = call.failure()) throw LaunchError(*failure);
  return call.results(kept_results(call));
}

std::string tensors_to_bytes(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> on_cpu;
  for (const torch::Tensor& tensor : tensors) on_cpu.push_back(tensor.detach().cpu());
  const std::vector<char> bytes = torch::jit::pickle_save(c10::IValue(on_cpu));
  return std::string(bytes.begin(), bytes.end());
}

std::vector<torch::Tensor> tensors_from_bytes(const std::string& bytes) {
  return torch::jit::pickle_load(std::vector<char>(bytes.begin(), bytes.end())).toTensorVector();
}

}  // namespace runtime
}  // namespace accel
