"""A command on its own terminal, for tests of what people see."""

import fcntl
import os
import pty
import select
import struct
import termios
import time

COLUMNS = 100
_SECONDS = 25  # Less than the grace of 30 s after which a launch kills its workers.


class Terminal:
    """A command that runs as the foreground job of its own terminal."""

    def __init__(self, test, *command):
        self.test, self.out = test, b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(test.dir)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
            os.execve(command[0], [str(part) for part in command], test.env)
        test.addCleanup(os.close, self.fd)

    def type(self, keys):
        os.write(self.fd, keys)

    def read(self, until):
        """Reads until the output contains these bytes, or to its end if none are given. Returns false if the
        output has ended."""
        deadline = time.monotonic() + _SECONDS
        while until is None or until not in self.out:
            if not select.select([self.fd], [], [], max(deadline - time.monotonic(), 0))[0]:
                os.kill(self.pid, 9)
                self.test.fail(f"not within {_SECONDS} s: {until!r} in {self.out!r}")
            try:
                self.out += os.read(self.fd, 1 << 16)
            except OSError:  # EIO: no process has the other side open.
                return False
        return True

    def expect(self, text):
        """Waits for a text, and skips the output up to its end."""
        self.test.assertTrue(self.read(text), f"no {text!r} in {self.out!r}")
        self.out = self.out.partition(text)[2]

    def finish(self):
        """Returns the exit code."""
        self.read(None)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
