// Empties a folder, even if another process changes it meanwhile.
#pragma once

namespace accel::process {

// Removes everything in the open folder that the calling thread may remove. Does not follow links.
// Leaves the folder's file system only through mounts, which users cannot make. Sets the mode of
// each folder to 0700, because its owner may have closed it. Descends at most 64 levels. Failures
// are ignored, so entries may remain.
void RemoveBelow(int folder);

}  // namespace accel::process
