#include "runtime/process/launched_call.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace accel::runtime {
namespace {

using nlohmann::json;

void write(const std::string& path, const std::string& bytes) {
  const std::string part = path + ".part." + std::to_string(getpid());
  std::ofstream file(part, std::ios::binary);
  file << bytes;
  file.close();
  if (!file.good() || std::rename(part.c_str(), path.c_str()) != 0) {
    throw std::runtime_error("accel::launch: cannot write " + path + ": " + std::strerror(errno));
  }
}

std::optional<std::string> read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string describe(const json& cause) {
  const json end = cause.value("exit", json::object());
  const std::string kind = end.value("kind", "");
  const std::string message = end.value("message", "");
  std::string how;
  if (kind == "SIGNALLED") {
    const int number = end.value("signal", 0);
    how = "was killed by signal " + std::to_string(number) + " (" + strsignal(number) + ")" +
          (end.value("out_of_memory", false) ? ", because memory ran out" : "");
  } else if (kind == "EXITED" || message.empty()) {
    how = "exited with code " + std::to_string(end.value("code", 0));
  } else {
    return message;
  }
  return message.empty() ? how : how + ": " + message;
}

}  // namespace

void LaunchedCall::keep_result(int rank, const std::string& bytes) const {
  write(folder_ + "/result." + std::to_string(rank), bytes);
}

void LaunchedCall::keep_error(const std::string& generation, int rank,
                              const std::string& text) const {
  write(folder_ + "/error." + generation + "." + std::to_string(rank), text);
}

void LaunchedCall::keep_failure(const LaunchError& error) const {
  write(folder_ + "/failed", std::to_string(error.rank()) + " " +
                                 std::to_string(error.exit_code()) + "\n" + error.what());
}

std::optional<std::string> LaunchedCall::result(int rank) const {
  return read(folder_ + "/result." + std::to_string(rank));
}

std::optional<LaunchError> LaunchedCall::failure() const {
  const auto kept = read(folder_ + "/failed");
  if (!kept.has_value()) return std::nullopt;
  int rank = -1;
  int exit_code = 1;
  std::istringstream(*kept) >> rank >> exit_code;
  return LaunchError(kept->substr(kept->find('\n') + 1), rank, exit_code);
}

std::vector<std::string> LaunchedCall::results(int world) const {
  std::vector<std::string> all;
  for (int rank = 0; rank < world; ++rank) {
    std::optional<std::string> each = result(rank);
    if (!each.has_value()) {
      throw LaunchError("rank " + std::to_string(rank) +
                            " exited with code 0 before the function returned; main() must reach "
                            "the same call of accel::launch() in each process",
                        rank, 0);
    }
    all.push_back(*std::move(each));
  }
  return all;
}

LaunchError LaunchedCall::first_error(int exit_code) const {
  const json job = json::parse(read(end_file()).value_or(""), nullptr, /*allow_exceptions=*/false);
  const json cause = job.is_object() ? job.value("cause", json()) : json();
  if (!cause.is_object()) {
    return LaunchError("accel launch exited with code " + std::to_string(exit_code) +
                           "; standard error has its message",
                       -1, exit_code);
  }
  const int rank = cause.value("rank", -1);
  const std::string who = rank < 0 ? "the job" : "rank " + std::to_string(rank);
  const auto text = read(folder_ + "/error." + std::to_string(cause.value("generation", 0)) + "." +
                         std::to_string(rank));
  if (text.has_value()) return LaunchError(who + ": " + *text, rank, exit_code);
  return LaunchError(who + " " + describe(cause), rank, exit_code);
}

}  // namespace accel::runtime
