// Runs a test in several real processes.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "runtime/testing/fork_server.h"

namespace accel::runtime {

// The ways in which ranks must end, by rank: an exit code, or a signal's number times -1. All other
// ranks must exit with 0.
using Ends = std::map<int, int>;

// Runs `body` in `world_size` ranks. Each is a new process of this test program, started for the
// current test only (by a fork server), with torchrun's environment plus `extra`. The calling
// process serves the rendezvous store. No rank enters `body` before all have been started. A rank
// that is not in `ends` succeeds if it exits with 0, that is, if no expectation failed in it. Ranks
// that still run after 60 s, or 10 s after the first failure, are killed. The part of the test
// before the call runs in every rank as well.
//
// Returns true in the calling process, after all ranks have ended, and false in a rank.
bool on_ranks(int world_size, const std::function<void()>& body, const Variables& extra = {},
              const Ends& ends = {});

}  // namespace accel::runtime
