// What can keep a generation from starting, found before anything is started.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shim/core/messages.h"

namespace accel::shim {

// A kNotStarted fact with this code and sentence: printable (printable.h), and cut in the middle to
// 4 KiB.
ExitFact NotStarted(int code, std::string message);

// The exit code of a start that met this errno on a path of the job's. 127: it is not there. 126:
// it is no path that could be followed, or the job may not go there; as for 127, this is the job's
// own failure. 1: the node cannot tell (its disk fails, a mount is stale).
int PathErrorCode(int error);

// Descriptors that the shim itself and the output of the start's workers take.
uint64_t FilesForOutput(const GenerationStart& start);

// Whether the shim can hold the pipes, the files and, if this start serves the store, two
// connections to it for each of its workers. Nothing if `limit` descriptors suffice; otherwise 126,
// because the node can start smaller jobs.
std::optional<ExitFact> FindTooManyFiles(const GenerationStart& start, uint64_t limit);

// The working directory, and the required paths. Nothing if all of them are there.
std::optional<ExitFact> FindMissingPath(const GenerationStart& start);

// Makes `log_dir`, with its parents, and a folder in it for every rank. The fact says what cannot
// be made, and why.
std::optional<ExitFact> MakeLogDirs(const GenerationStart& start);

}  // namespace accel::shim
