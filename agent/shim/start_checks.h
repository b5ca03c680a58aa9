// What can keep a generation from starting, found before anything is started.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/shim/messages.h"

namespace accel {

// A kNotStarted fact with this code and sentence.
ExitFact NotStarted(int code, std::string message);

// The working directory, and the required paths. Nothing if all of them are there.
std::optional<ExitFact> FindMissingPath(const GenerationStart& start);

// Makes `log_dir`, with its parents, and a folder in it for every rank. The fact says what cannot
// be made, and why.
std::optional<ExitFact> MakeLogDirs(const GenerationStart& start);

}  // namespace accel
