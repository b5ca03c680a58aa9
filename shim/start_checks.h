// Finds reasons why a generation cannot start, before any process is started.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shim/core/messages.h"

namespace accel::shim {

// Returns a kNotStarted fact. The message is made printable (common/printable.h) and shortened in
// the middle to 4 KiB.
ExitFact NotStarted(int code, std::string message);

// Returns the exit code for a start that failed with this errno on one of the job's paths. 127: it
// does not exist. 126: it cannot be followed, or the job has no permission. Both are the job's own
// failure (docs/decisions/0024). 1: a failure of the node, such as a disk error or a stale mount.
int PathErrorCode(int error);

// Returns how many descriptors the shim itself and the output of the start's workers need.
uint64_t FilesForOutput(const StartCommand& start);

// Checks that the shim can open the pipes, the files and, if this start serves the store, two
// connections to it for each of its workers. Returns nullopt if `limit` descriptors are enough.
// Otherwise the code is 126, because the node can start smaller jobs.
std::optional<ExitFact> FindTooManyFiles(const StartCommand& start, uint64_t limit);

// Checks the working directory and the required paths. Returns nullopt if all of them exist.
std::optional<ExitFact> FindMissingPath(const StartCommand& start);

// Makes `log_dir`, with its parents, and a folder in it for every rank. If that fails, the returned
// fact says which folder and why.
std::optional<ExitFact> MakeLogDirs(const StartCommand& start);

}  // namespace accel::shim
