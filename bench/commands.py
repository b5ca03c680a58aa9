"""Times the commands that run no job, and the test of the set-up, next to Accelerate's."""

import os
import pathlib
import tempfile

from bench import harness

ACCELERATE = harness.VENV / "accelerate"
CONFIG = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_CPU\nnum_processes: 2\nuse_cpu: true\n"
# The words of each command, and whether Accelerate has the same command.
COMMANDS = [(["--help"], True), (["env"], True), (["launch", "--help"], True), (["config", "explain"], False)]


def answer(pairs):
    results = []
    with tempfile.TemporaryDirectory(prefix="accel-bench-") as folder:
        config = pathlib.Path(folder, "config.yaml")
        config.write_text(CONFIG)
        home = {"HOME": folder, "HF_HOME": folder,  # An empty folder: the user's file is not read.
                "PATH": f"{harness.VENV}:{os.environ['PATH']}"}  # `accelerate test` looks for accelerate-launch there.
        for words, has_peer in [*COMMANDS, (["config", "check", config], False)]:
            bench = harness.Benchmark("accel " + " ".join("FILE" if word is config else word for word in words), "s", "<= 0.020")
            for _ in range(pairs):
                peer = {"accelerate": harness.wall([ACCELERATE, *words], home)[0]} if has_peer else {}
                bench.add(**peer, accel=harness.wall([harness.ACCEL, *words], home)[0])
            results.append(bench.summary())
        results.append(_test(pairs, home, config))
    return results


def _test(pairs, home, config):
    """Times the test of a set-up with two processes on CPUs. accel trains in C++ and in Python,
    Accelerate in Python."""
    bench = harness.Benchmark("accel test, 2 processes", "s", "<= 5")
    for _ in range(min(pairs, 3)):
        theirs = harness.wall([ACCELERATE, "test", "--config_file", config], home)[0]
        ours = [harness.ACCEL, "test", "--config_file", config, "--python", harness.PYTHON]
        bench.add(accelerate=theirs, accel=harness.wall(ours, home)[0])
    return bench.summary()
