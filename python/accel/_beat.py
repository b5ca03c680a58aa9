"""Tells the launcher that this process makes progress, for `--hang_timeout` of `accel launch` and `accel submit`."""

import os
import socket
import time

_EVERY = 0.1  # Seconds.
_next = 0.0


def beat():
    """Says that this rank has finished a step. Call it after each step of a training or evaluation loop.

    Sends at most ten messages a second; the other calls only read a clock. Never waits and never fails. Without
    --hang_timeout, or under another launcher, it does nothing. Once a rank has called it, the rank counts as hanging if
    it does not call it again for the time of --hang_timeout, and for three times the longest time between two calls.
    """
    global _next
    now = time.monotonic()
    if now < _next:
        return
    _next = now + _EVERY
    _send("beat")


def pause():
    """Says that this rank does something that may take any time, such as saving a checkpoint.

    Until its next beat(), the rank does not count as hanging. Call it on every rank before rank 0 saves, because the
    others wait for rank 0.
    """
    global _next
    _next = 0.0  # The next beat must be sent, because it ends the pause.
    _send("pause")


def _send(sign):
    descriptor, _, inode = os.environ.get("ACCEL_BEAT_SOCKET", "").partition(":")
    try:
        # The program may have closed the descriptor, and opened another file with the same number.
        if os.fstat(int(descriptor)).st_ino != int(inode):
            return
        with socket.fromfd(int(descriptor), socket.AF_UNIX, socket.SOCK_SEQPACKET) as launcher:
            launcher.send(f"{sign} {os.environ.get('RANK', 0)}".encode(), socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
    except (OSError, ValueError):
        pass
