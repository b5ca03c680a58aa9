// Empties a folder that another process may change meanwhile.
#pragma once

namespace accel::process {

// Removes everything in the open folder, as far as the calling thread may. Follows no link, and
// leaves the folder's own file system only by mounts, which users cannot make. Folders that are
// closed to their owner are opened. At most 64 levels deep. Failures leave something behind.
void RemoveBelow(int folder);

}  // namespace accel::process
