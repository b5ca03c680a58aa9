// Describes what the threads of a process do, as far as the kernel tells (/proc/PID/task), for the
// record of a process that hangs.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

namespace accel::process {

// Returns lines without newlines. They have at most `most_bytes` together. Each thread has one
// line, with its number, name, state, system call, and the function of the kernel in which it
// waits. The lines of its kernel stack follow, if this process may read the stack:
//
//   thread 4711 "train": state S (sleeping), in system call futex (202), waits in futex_wait_queue
//     [<0>] futex_wait_queue+0x60/0x90
//
// If not all threads fit, a last line counts those that are left out. Names are printable. Does not
// read files for which the kernel would wait for the process, such as that of its command line.
std::vector<std::string> DescribeThreads(pid_t pid, size_t most_bytes);

}  // namespace accel::process
