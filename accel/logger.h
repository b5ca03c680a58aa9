// accel::get_logger(): log lines of a program of several processes.
//
//   const accel::Logger logger = accel::get_logger("train");
//   logger.info("epoch " + std::to_string(epoch));                          // From rank 0.
//   logger.info("my shard has ...", {.main_process_only = false});          // From each rank.
//   logger.info("rank by rank", {.in_order = true});                        // Collective.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace accel {

struct LogOptions {
  bool main_process_only = true;
  // If true, every rank logs, one after the other, regardless of main_process_only. Collective: a
  // barrier per rank.
  bool in_order = false;
};

// A named writer of lines "TIME LEVEL NAME [rank R] MESSAGE" to standard error, in local time. Each
// line is one unbuffered write. In a world of one the rank is omitted. A value type. Thread-safe,
// except with in_order.
class Logger {
 public:
  enum class Level { kDebug, kInfo, kWarning, kError, kCritical };

  void debug(std::string_view message, LogOptions options = {}) const;
  void info(std::string_view message, LogOptions options = {}) const;
  void warning(std::string_view message, LogOptions options = {}) const;
  void error(std::string_view message, LogOptions options = {}) const;
  void critical(std::string_view message, LogOptions options = {}) const;

  // Logs a message, or does nothing below the least level. It then makes no barrier either, so the
  // level must be the same on all ranks. With in_order and several processes, throws
  // std::logic_error if the process has no Accelerator yet, and CommunicationError if a peer is
  // lost.
  void log(Level level, std::string_view message, LogOptions options = {}) const;

  // Writes this warning once per process, even if several loggers are called with it.
  void warning_once(std::string_view message, LogOptions options = {}) const;

  bool is_enabled_for(Level level) const { return level >= least_; }

 private:
  friend Logger get_logger(std::string name, std::optional<Level> level);
  Logger(std::string name, Level least, int rank, int world_size);
  void write(Level level, std::string_view message) const;

  std::string name_;
  Level least_;
  int rank_;
  int world_size_;
};

// Returns a logger with this name. Its least level is `level` if that is given. Otherwise it is
// the level in ACCELERATE_LOG_LEVEL (debug, info, warning, error or critical; case is ignored), or
// info if the variable is empty or not set. Throws std::invalid_argument for any other
// ACCELERATE_LOG_LEVEL, or a bad environment.
Logger get_logger(std::string name, std::optional<Logger::Level> level = std::nullopt);

}  // namespace accel
