// What an agent and its shims tell each other, as values; shim/core/codec.h gives them their
// bytes.
//
// Down: GenerationStart (with the store's listening socket, if any), GenerationStop, and the end of
// the shim. Up: the whole state of the shim's newest generation, each time it changes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/ids.h"
#include "logs/core/log_limits.h"

namespace accel::shim {

// In one start: as many as a job may have on a node.
constexpr size_t kMostWorkers = 1024;

struct WorkerStart {
  int rank = 0;
  int local_rank = 0;
  std::vector<std::string> env;  // Complete, as NAME=VALUE.
};

struct GenerationStart {
  common::GenerationId id;
  std::vector<std::string> argv;  // argv[0] without a slash is looked up in the worker's PATH.
  std::string workdir;
  std::vector<std::string> required_paths;
  std::vector<WorkerStart> workers;      // At least one, at most kMostWorkers; local ranks 0, 1...
  bool serves_store = false;             // A listening socket travels with this message.
  std::vector<std::string> store_peers;  // Numeric addresses that may talk to the store.
  std::string log_dir;                   // Of this generation; made if it is missing.
  // The same on another file system, for output that log_dir refuses. Empty: that is dropped.
  std::string spill_dir;
  // Control groups of this generation (v2; v1 memory), made if missing. Empty: none to be had, or
  // the shim host chooses.
  std::string cgroup;
  std::string memory_cgroup;
  bool keep_stdin = false;      // The only worker keeps the shim's standard input and its terminal.
  absl::Duration orphan_grace;  // TERM to KILL when the agent is gone.
  logs::LogLimits log_limits;
};

struct GenerationStop {
  common::GenerationId id;
  absl::Duration
      grace;  // TERM to KILL; 0: KILL at once. A shorter grace replaces a longer one under way.
};

struct ExitFact {
  enum class Kind { kExited, kSignalled, kNotStarted, kShimDied };
  Kind kind = Kind::kExited;
  int code = 0;    // kExited. kNotStarted: 127 program not found, 126 not executable, else 1.
  int signal = 0;  // kSignalled
  bool core_dumped = false;
  bool out_of_memory = false;
  // kNotStarted: what, where and what to do; at most 4 KiB. Of several workers that one cause kept
  // from starting, the first says it.
  std::string message;

  bool ok() const { return kind == Kind::kExited && code == 0; }
};

struct WorkerReport {
  int rank = 0;
  int local_rank = 0;
  int64_t pid = 0;                      // 0: never started.
  uint64_t start_time_ticks = 0;        // Field 22 of /proc/PID/stat.
  std::optional<ExitFact> exit;         // Unset while it runs.
  std::vector<std::string> last_lines;  // Of a worker that failed: at most 20 lines, 4 KiB.
};

struct GenerationReport {
  enum class State { kStarting, kRunning, kStopping, kEnded };
  common::GenerationId id;
  State state = State::kStarting;
  std::vector<WorkerReport> workers;
  std::optional<ExitFact> failure;  // Of the node's part as a whole.
};

// Of a start or a report in its frame (channel.h): the environments of many workers fit.
constexpr size_t kMostPayloadBytes = 16 << 20;

}  // namespace accel::shim
