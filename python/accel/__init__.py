"""Runs a function in several processes, from a program or a notebook, through `accel launch`.

    import accel

    def train(rate):
        import os
        return os.environ["RANK"]

    results = accel.launch(train, args=(0.1,), num_processes=2, cpu=True)   # ["0", "1"]

A loop that calls accel.beat() after each step lets `--hang_timeout` find a rank that hangs.

The processes are new ones, so the program or the notebook's kernel may use GPUs itself, and survives a process that
dies. This package has only Python files. It needs the program `accel`, and cloudpickle in the workers' interpreter.
"""

from accel._beat import beat, pause
from accel._launch import WorkerError, launch

__all__ = ["WorkerError", "beat", "launch", "pause"]
