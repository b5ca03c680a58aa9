"""Waiting for a condition in a test."""

import time


def wait_until(condition, seconds, what):
    """Returns the first true value of condition(). Fails after this many seconds."""
    begin = time.monotonic()
    while True:
        # Read before the condition is evaluated, so that a test that stood still looks once more.
        waited = time.monotonic() - begin
        if value := condition():
            return value
        if waited >= seconds:
            raise AssertionError(f"not within {seconds} s: {what}")
        # The polling interval, not a wait for a fixed time. It grows, because many conditions run a command, which takes
        # the processors from the other tests.
        time.sleep(min(max(waited / 20, 0.005), 0.5))
