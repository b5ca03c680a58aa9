// The messages between an agent and its shims, as values. shim/core/codec.h encodes them.
//
// The agent sends StartCommand (with the store's listening socket, if any), StopCommand, EndCommand
// and ContactCommand (codec.h). The shim sends ShimHello on each new connection. It sends the whole
// GenerationReport of its newest generation each time that changes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/ids.h"
#include "logs/core/log_limits.h"

namespace accel::shim {

// Maximum number of workers in one start, and therefore of one job on one node.
constexpr size_t kMaxWorkers = 1024;

struct WorkerStart {
  int rank = 0;
  int local_rank = 0;
  std::vector<std::string> env;  // The complete environment, as NAME=VALUE.
};

struct StartCommand {
  common::GenerationId id;
  std::vector<std::string> argv;  // argv[0] without a slash is searched in the worker's PATH.
  std::string workdir;
  std::vector<std::string> required_paths;
  std::vector<WorkerStart> workers;  // At least one, at most kMaxWorkers. Local ranks are 0, 1...
  // The store's listening socket is attached to this message.
  bool serves_store = false;
  std::vector<std::string> store_peers;  // Numeric addresses that may connect to the store.
  std::string log_dir;                   // The generation's folder, made if it is missing.
  // A folder on another file system, with the layout of log_dir, for output that log_dir cannot
  // take (docs/decisions/0028). If empty, such output is dropped.
  std::string spill_dir;
  // The control groups of this generation (v2, v1 memory and v1 pids), made if missing. If they are
  // empty, the shim host sets them before it sends the message. If they arrive empty, the shim uses
  // none.
  std::string cgroup;
  std::string memory_cgroup;
  std::string pids_cgroup;
  // Maximum number of processes and threads in the generation's groups. If 0, the shim host sets
  // it. If it arrives as 0, there is no limit.
  int64_t max_processes = 0;
  // The generation's only worker gets the shim's standard input and terminal.
  bool keep_stdin = false;
  absl::Duration orphan_grace;  // Time between SIGTERM and SIGKILL if the agent is gone.
  logs::LogLimits log_limits;
  // If true, the workers outlive their agent (on_agent_loss: keep). Otherwise they are stopped when
  // the connection to the agent ends.
  bool keep_without_agent = false;
  // Maximum time without a ContactCommand. The workers are stopped when it is over.
  absl::Duration stop_on_disconnect_after = absl::InfiniteDuration();
  // If true, the workers get a socket on which they report committed checkpoints.
  bool report_checkpoints = false;
  // If above 0, the workers get a socket for signs of progress. A rank that has sent none for this
  // time, after the first one, hangs (progress.h).
  absl::Duration hang_timeout;
};

struct StopCommand {
  common::GenerationId id;
  // Time between SIGTERM and SIGKILL. If 0, SIGKILL is sent immediately. A shorter grace replaces a
  // longer one that is in progress.
  absl::Duration grace;
};

struct ExitFact {
  // kShimDied: the shim was killed. kAbandoned: the shim stopped its generation because its agent
  // or the coordinator was gone. kHung: the worker made no progress. It may still run. kUnknown:
  // the shim is of a later release and has named a kind that this release does not know. Only
  // readers use kUnknown.
  enum class Kind {
    kExited,
    kSignalled,
    kNotStarted,
    kShimDied,
    kAbandoned,
    kHung,
    kUnknown = 255
  };
  Kind kind = Kind::kExited;
  // For kExited, the exit code. For kNotStarted, 127 or 126 for a failure of the job itself
  // (start_checks.h), and 1 for a failure of the node.
  int code = 0;
  int signal = 0;  // For kSignalled.
  bool core_dumped = false;
  bool out_of_memory = false;
  // For kNotStarted: what failed, where, and what to do; at most 4 KiB. If one cause kept several
  // workers from starting, only the first of these workers has the message. For kHung: a predicate,
  // "has made no progress for 30s (...)". For kExited and kSignalled: what the control groups know
  // about the end, such as the peak of memory. Most often empty.
  std::string message;

  bool ok() const { return kind == Kind::kExited && code == 0; }
};

struct WorkerReport {
  int rank = 0;
  int local_rank = 0;
  int64_t pid = 0;                      // 0 if the worker was never started.
  uint64_t start_time_ticks = 0;        // Field 22 of /proc/PID/stat.
  std::optional<ExitFact> exit;         // Unset while the worker runs, unless it hangs.
  std::vector<std::string> last_lines;  // If the worker failed: at most 20 lines and 4 KiB.
  // The time at which the worker was reaped, by the monotonic clock of the node. For kHung, the
  // time of its last sign of progress. absl::Time() if it is not known.
  absl::Time ended_at;
};

struct GenerationReport {
  enum class State { kStarting, kRunning, kStopping, kEnded };
  common::GenerationId id;
  State state = State::kStarting;
  std::vector<WorkerReport> workers;
  std::optional<ExitFact> failure;  // The failure of the node's whole part.
  std::string log_dir;              // From the start command.
  absl::Duration orphan_grace;      // From the start command.
  // If true, the shim exits once the generation has ended, so it takes no further start.
  bool shim_is_leaving = false;
  int64_t checkpoints = 0;  // Number of committed checkpoints that its workers have reported.
  // Number of connections to its store that were closed because of the peer's address.
  int64_t refused_peers = 0;
};

// The first message of a shim on each connection. If it has a generation, the whole report follows.
struct ShimHello {
  common::JobId job;
  int64_t pid = 0;
  uint64_t start_time_ticks = 0;
  std::string release;                // The version of accel.
  common::Generation generation = 0;  // The newest generation. 0 if there is none.
};

// Maximum size of a start or a report in its frame (channel.h). The environments
// of many workers fit.
constexpr size_t kMaxPayloadBytes = 16 << 20;

}  // namespace accel::shim
