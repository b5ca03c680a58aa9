"""What a process has open, from /proc. Only root can read this of a daemon, because daemons are not dumpable."""

import collections
import os
import pathlib


def targets(pid):
    """Returns what each descriptor of a process is, in the words of the kernel: a path, or `pipe:[INODE]`."""
    found = []
    for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.append(os.readlink(fd))
        except FileNotFoundError:  # It was just closed.
            pass
    return found


def number(pid):
    """Returns the number of descriptors of a process."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def kinds(pid):
    """Returns the number of descriptors of each kind, without sockets."""
    found = [target for target in targets(pid) if not target.startswith("socket:")]
    return collections.Counter("file" if target.startswith("/") else "pipe" if target.startswith("pipe:") else target
                               for target in found)


def socket_inodes(pid):
    return {target[8:-1] for target in targets(pid) if target.startswith("socket:[")}


def table(pid, name):
    """Returns the fields of each line of a table in /proc/PID/net, or nothing if the kernel has no such table."""
    path = pathlib.Path(f"/proc/{pid}/net/{name}")
    return [line.split() for line in path.read_text().splitlines()[1:]] if path.exists() else []


def listeners(pid):
    """Returns the address of each listening socket in the network namespace of a process, by inode. A Unix socket has its
    path."""
    found = {fields[9]: fields[1].partition(":")[0] for name in ("tcp", "tcp6") for fields in table(pid, name)
             if fields[3] == "0A"}
    return found | {fields[6]: "".join(fields[7:]) for fields in table(pid, "unix") if int(fields[3], 16) & 0x10000}


def sockets(pid):
    """Returns the number of the listening sockets of a process by address, and the number of its other sockets."""
    inodes, listening = socket_inodes(pid), listeners(pid)
    own = inodes & listening.keys()
    return collections.Counter(listening[inode] for inode in own), len(inodes - own)
