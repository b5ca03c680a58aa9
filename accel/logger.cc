#include "accel/logger.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <set>
#include <stdexcept>
#include <utility>

#include "runtime/process/process_state.h"
#include "runtime/process/read_environment.h"

namespace accel {
namespace {

constexpr std::array<const char*, 5> kLevelNames = {"debug", "info", "warning", "error",
                                                    "critical"};

Logger::Level level_of_environment() {
  const char* value = std::getenv("ACCELERATE_LOG_LEVEL");
  if (value == nullptr || *value == '\0') return Logger::Level::kInfo;
  std::string lower = value;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  const auto found = std::find(kLevelNames.begin(), kLevelNames.end(), lower);
  if (found != kLevelNames.end()) return static_cast<Logger::Level>(found - kLevelNames.begin());
  throw std::invalid_argument("ACCELERATE_LOG_LEVEL=\"" + std::string(value) +
                              "\" should be debug, info, warning, error or critical");
}

std::string time_now() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  std::tm local;
  localtime_r(&seconds, &local);
  char date[32], text[40];
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &local);
  std::snprintf(text, sizeof text, "%s.%03d", date, static_cast<int>(milliseconds));
  return text;
}

}  // namespace

Logger::Logger(std::string name, Level least, int rank, int world_size)
    : name_(std::move(name)), least_(least), rank_(rank), world_size_(world_size) {}

Logger get_logger(std::string name, std::optional<Logger::Level> level) {
  const runtime::Environment environment = runtime::read_environment();
  return Logger(std::move(name), level ? *level : level_of_environment(), environment.rank,
                environment.world_size);
}

// Writes the line by one call, so that lines of several processes on one pipe or file do not mix.
void Logger::write(Level level, std::string_view message) const {
  std::string line =
      time_now() + " " + kLevelNames.at(static_cast<std::size_t>(level)) + " " + name_;
  if (world_size_ > 1) line += " [rank " + std::to_string(rank_) + "]";
  line += " " + std::string(message) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void Logger::log(Level level, std::string_view message, LogOptions options) const {
  if (!is_enabled_for(level)) return;
  if (!options.in_order) {
    if (rank_ == 0 || !options.main_process_only) write(level, message);
    return;
  }
  const std::shared_ptr<runtime::ProcessState> state = runtime::ProcessState::find_living();
  if (world_size_ > 1 && state == nullptr) {
    throw std::logic_error("LogOptions::in_order is collective: make an accel::Accelerator first");
  }
  const runtime::OperationScope operation(state == nullptr ? nullptr : state->communicator.get(),
                                          "a log line in order");
  for (int rank = 0; rank < world_size_; ++rank) {
    if (rank == rank_) write(level, message);
    if (world_size_ > 1) state->communicator->barrier();
  }
}

void Logger::warning_once(std::string_view message, LogOptions options) const {
  static std::mutex mutex;
  static std::set<std::string> said;
  {
    const std::lock_guard lock(mutex);
    if (!said.emplace(message).second) return;
  }
  warning(message, options);
}

void Logger::debug(std::string_view message, LogOptions options) const {
  log(Level::kDebug, message, options);
}
void Logger::info(std::string_view message, LogOptions options) const {
  log(Level::kInfo, message, options);
}
void Logger::warning(std::string_view message, LogOptions options) const {
  log(Level::kWarning, message, options);
}
void Logger::error(std::string_view message, LogOptions options) const {
  log(Level::kError, message, options);
}
void Logger::critical(std::string_view message, LogOptions options) const {
  log(Level::kCritical, message, options);
}

}  // namespace accel
