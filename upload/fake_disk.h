// Replaces the C library's syncfs() and fsync() in the tests that link this. No test can cut the
// power, so tests check the calls instead.
#pragma once

#include <functional>

namespace accel::upload {

// The function that replaces syncfs(). The thread that calls syncfs() calls it, and
// gets its result.
std::function<int()>& OnSync();
// The function that is called at each fsync().
std::function<void()>& OnFileSync();

// A function for OnSync() that fails with EIO.
int FailedSync();

// Makes syncfs() and fsync() succeed again.
void ResetSyncs();

}  // namespace accel::upload
