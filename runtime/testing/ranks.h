// Tests with several real processes.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace accel::runtime {

using Variables = std::map<std::string, std::string>;

// Runs `body` in `world_size` processes of its own, each this test program started afresh for the
// current test, with torchrun's environment and `extra` on top; the calling process serves the
// rendezvous store. A rank succeeds if it exits with 0, that is, if no expectation failed in it.
// After 60 s, or 10 s after the first failure, what still runs is killed. What stands before the
// call runs in every rank as well.
//
// Returns true in the calling process, when all ranks have ended, and false in a rank.
bool on_ranks(int world_size, const std::function<void()>& body, const Variables& extra = {});

}  // namespace accel::runtime
