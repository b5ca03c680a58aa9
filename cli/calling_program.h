// Functions for `accel launch` when another program runs it as a child, as accel::launch() does in
// C++ and in Python.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "proto/job.pb.h"

namespace accel::cli {

// Arranges that this process gets SIGTERM when its parent, process `pid`, ends. The kernel sends
// the signal when that thread of the parent ends which has started this process. ABORTED: `pid` is
// not the parent, or has already ended.
absl::Status EndWithParent(int pid);

// Writes the finished job to `path` as JSON (docs/json.md). An existing file is replaced in one
// step. UNAVAILABLE: the file cannot be written.
absl::Status WriteEnd(const v1::Job& job, const std::string& path);

}  // namespace accel::cli
