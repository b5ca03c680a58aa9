"""Prints as fast as it can. Says on the last line of the file argv[1] how long the writing took, and how long the
slowest write: that is for how long a worker would have been blocked."""

import os
import sys
import time

TOTAL = int(sys.argv[2])
block = (b"step 12345 loss 0.123456 " * 4)[:99] + b"\n"
block *= (1 << 20) // len(block)

slowest, written, begin = 0.0, 0, time.monotonic()
while written < TOTAL:
    before = time.monotonic()
    written += os.write(1, block)
    slowest = max(slowest, time.monotonic() - before)
seconds = time.monotonic() - begin
with open(sys.argv[1], "w") as report:
    report.write(f"{written} {seconds} {slowest}\n")
