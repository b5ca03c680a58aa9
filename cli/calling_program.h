// For programs that run `accel launch` as a part of their own: accel::launch() in C++ and in
// Python.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "proto/job.pb.h"

namespace accel::cli {

// Sends SIGTERM to this process when process `pid`, its parent, ends. More exactly, when the thread
// ends that has started this process. ABORTED: `pid` is not the parent, or no longer.
absl::Status EndWithParent(int pid);

// Writes the finished job into a new file at `path` as JSON (docs/json.md). A file that is there is
// replaced as a whole. UNAVAILABLE: the file cannot be written.
absl::Status WriteEnd(const v1::Job& job, const std::string& path);

}  // namespace accel::cli
