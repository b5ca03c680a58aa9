"""What /proc says about processes. state_of() and parent_of() raise an OSError if the process does not exist."""

import pathlib

from tests.e2e import descriptors


def is_alive(pid):
    """Returns true if a process runs; false for a zombie."""
    try:
        return state_of(pathlib.Path(f"/proc/{pid}")) not in "ZX"
    except OSError:
        return False


def is_sleeping(pid):
    """Returns true if a process executes the program `sleep`, and is no longer the shell that has started it."""
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text() == "sleep\n" and is_alive(pid)
    except OSError:
        return False


def state_of(folder):
    """Returns the letter of a process's or a thread's state. `folder` is its folder in /proc."""
    return (folder / "stat").read_text().rpartition(")")[2].split()[0]


def parent_of(pid):
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])


def listening_sockets(pid):
    """Returns the addresses (in the hexadecimal notation of /proc/net/tcp*) and ports that a process listens on,
    if it runs."""
    try:
        inodes = descriptors.socket_inodes(pid)
    except OSError:
        return []
    found = []
    for fields in tcp_sockets():
        if fields[3] == "0A" and fields[9] in inodes:
            address, port = fields[1].split(":")
            found.append((address, int(port, 16)))
    return found


def tcp_sockets(pid="self"):
    """Returns the fields of each line of /proc/PID/net/tcp and tcp6: 1 is the local address, 2 the remote one, 3 the state
    and 9 the inode, which is 0 for a socket that no process has."""
    return [fields for table in ("tcp", "tcp6") for fields in descriptors.table(pid, table)]


def wait_for_line(process, text):
    """Reads the standard error of a process that a test has started, up to the line that contains `text`."""
    said = []
    for line in process.stderr:
        said.append(line.decode())
        if text in said[-1]:
            return
    raise AssertionError(f"{process.args} has not said: {text}, but: {''.join(said)}")
