// Replaces the C library's syncfs() and fsync() in the tests that link it, because no test can cut
// the power.
#pragma once

#include <functional>

namespace accel::upload {

// Called at each sync of a file system, in the thread that makes it. Returns what syncfs() returns.
std::function<int()>& OnSync();
// Called at each sync of a file or folder.
std::function<void()>& OnFileSync();

// For OnSync(). Fails with EIO.
int FailedSync();

// Makes both succeed.
void ResetSyncs();

}  // namespace accel::upload
