// Who this process is, as its launcher says in the environment: accel's and torchrun's variables,
// or none.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "accel/options.h"

namespace accel {

struct Environment {
  // 0 <= rank < world_size; 0 <= local_rank < local_world_size <= world_size. Without a launcher:
  // one process.
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int local_world_size = 1;

  // Where the rendezvous store is. Meaningful for world_size > 1 only.
  std::string master_addr;
  std::uint16_t master_port = 0;
  // True: the launcher serves the store and every rank is a client. False: rank 0 serves it.
  bool launcher_serves_store = false;
  // Which restart this is; a store that outlives restarts keeps each one's keys apart.
  int restart_count = 0;

  // Stay on the CPU even where there is a GPU.
  bool use_cpu = false;
  // Where the launcher says so.
  std::optional<MixedPrecision> mixed_precision;
  // Batches per optimizer step, where the launcher says so.
  std::optional<int> gradient_accumulation_steps;
  // Compare what the ranks bring to a collective before it starts.
  bool debug = false;
  // Network interfaces for Gloo, separated by commas; empty: choose by the route to master_addr.
  std::string gloo_interfaces;
  // Whether this process may communicate with others of its host through shared memory.
  bool shared_memory = true;
  // Columns of the terminal at the far end of this process's output, although that output is a
  // pipe; 0: none.
  int terminal_columns = 0;

  // The launcher's job, empty without one, and which of its worlds this one is.
  std::string job_id;
  std::uint64_t generation = 0;

  bool is_loopback() const;  // The store is on this machine's loopback, so all ranks are.
};

// Returns a variable's value, or std::nullopt.
using GetEnv = std::function<std::optional<std::string>(const char* name)>;

// Throws std::invalid_argument that names the variable and says what it should be, if some
// variables of a set are missing, a value is malformed or out of range, or fp8 is asked for.
Environment parse_environment(const GetEnv& get);

// parse_environment() over the real environment.
Environment read_environment();

}  // namespace accel
