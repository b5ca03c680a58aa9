// Checks whether a generation can start, before any of its processes is started.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shim/core/messages.h"

namespace accel::shim {

// Returns a kNotStarted fact. Makes the message printable (common/printable.h), and cuts its middle
// if it exceeds 4 KiB.
ExitFact NotStarted(int code, std::string message);

// Returns the exit code for a start that failed with this errno on one of the job's paths. 127: the
// path does not exist. 126: the path cannot be followed, or the job has no permission. Both codes
// are the job's own failure (docs/decisions/0024). 1: a failure of the node, such as a disk error
// or a stale mount.
int PathErrorCode(int error);

// Returns the number of descriptors that the shim needs for itself and for the output
// of the workers.
uint64_t FilesForOutput(const StartCommand& start);

// Checks that `limit` descriptors are enough for the shim's pipes and files. If the start serves
// the store, two connections for each worker count too. Returns nullopt if they are enough.
// Otherwise the code is 126, because the node can start smaller jobs.
std::optional<ExitFact> FindTooManyFiles(const StartCommand& start, uint64_t limit);

// Checks the working directory and the required paths. Returns nullopt if all of them exist.
std::optional<ExitFact> FindMissingPath(const StartCommand& start);

// Makes `log_dir`, with its parents, and a folder in it for every rank. Returns nullopt on success,
// or a fact that says which folder failed and why.
std::optional<ExitFact> MakeLogDirs(const StartCommand& start);

}  // namespace accel::shim
