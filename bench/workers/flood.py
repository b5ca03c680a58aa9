"""Prints argv[2] bytes as fast as it can. Writes three numbers to the file argv[1]: the bytes, the seconds of all
writes, and the seconds of the slowest write, for which a worker would have been blocked."""

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
