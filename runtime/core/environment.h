// The place of this process in its world, and further settings of the launcher, read from
// environment variables. `accel launch` and torchrun set the variables. Without them the process is
// a world of one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "accel/options.h"

namespace accel::runtime {

struct Environment {
  // 0 <= rank < world_size, and 0 <= local_rank < local_world_size <= world_size.
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int local_world_size = 1;

  // The address of the rendezvous store. Meaningful only if world_size > 1.
  std::string master_addr;
  std::uint16_t master_port = 0;
  // If true, the launcher serves the store and every rank is a client. If false, rank 0 serves it.
  bool launcher_serves_store = false;
  // The number of restarts before this start. Keys in the store begin with it, because the store
  // may outlive a restart.
  int restart_count = 0;

  // If true, the process trains on the CPU even if there is a GPU.
  bool use_cpu = false;
  // nullopt if the launcher sets none. `accel launch` always sets one.
  std::optional<MixedPrecision> mixed_precision;
  // Batches per optimizer step, at least 1; nullopt if the launcher sets none.
  std::optional<int> gradient_accumulation_steps;
  // If true, the ranks compare their calls before each collective.
  bool debug = false;
  // The network interfaces for Gloo, separated by commas. If empty, the interface on the route to
  // master_addr is used.
  std::string gloo_interfaces;
  // If true, ranks on the same host may communicate through shared memory.
  bool shared_memory = true;
  // The width, in columns, of the terminal on which the launcher shows this process's output. The
  // output itself is a pipe. 0 if there is no terminal.
  int terminal_columns = 0;

  // The id of the launcher's job, empty if there is none, and the generation of that job to which
  // this process belongs.
  std::string job_id;
  std::uint64_t generation = 0;
  // The socket on which the launcher is notified of checkpoints (runtime/checkpoint/report.h).
  // Empty if the launcher does not need this.
  std::string report_socket;
};

// Returns the value of a variable, or nullopt if it is not set.
using GetEnv = std::function<std::optional<std::string>(const char* name)>;

// Reads all variables. Throws std::invalid_argument, which names the variable and what it should
// be, if a value is malformed or out of range, or if fp8 is requested. Also throws it if only some
// of the variables of a world are set. An empty variable counts as unset.
Environment parse_environment(const GetEnv& get);

}  // namespace accel::runtime
