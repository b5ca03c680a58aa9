"""Kills workers, shims, agents and the coordinator at random, 10,000 times by default, with the program of
tests/e2e/kills_test.py. Its peer is torchrun, whose launcher is killed once for each round.

Each round has its own cluster, and leaves its summary in the folder of the run. So an interrupted run can be resumed: the
round in progress is repeated, and the rounds before it are kept.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from bench import adopt, harness

ROUND = 500
_RUNFILES = harness.BIN / "tests/e2e/kills_test.runfiles"
_COUNTS = ("kills", "jobs", "orphan", "lost", "twice", "disturbed")


def run(kills, resume):
    """Returns the sums over all rounds. `resume` is the folder of the run, which may contain rounds already."""
    folder = pathlib.Path(resume or tempfile.mkdtemp(prefix="accel-kills-"))
    folder.mkdir(parents=True, exist_ok=True)
    bench = harness.Benchmark(f"{kills} random kills: rounds are in {folder}", "processes, jobs, s",
                              "0 orphans, 0 lost jobs, 0 jobs run twice")
    summaries = []
    for number, size in enumerate(_sizes(kills)):
        file = folder / f"round-{number}.json"
        if not file.exists():
            _run_round(number, size, file)
        summaries.append(json.loads(file.read_text()))
        bench.add(**{key: summaries[-1][key] for key in _COUNTS}, **_medians([summaries[-1]]))
    _print_total(summaries)
    peer = adopt.torchrun_orphans()
    print(f"  torchrun: {peer} of {adopt.WORKERS} workers are orphans after one kill of its agent")
    return {"name": "kills", "rounds": summaries, "torchrun_orphans": peer}


def _sizes(kills):
    return [min(ROUND, kills - done) for done in range(0, kills, ROUND)]


def _run_round(number, size, file):
    environment = {**os.environ, "TEST_SRCDIR": str(_RUNFILES), "PYTHONPATH": str(_RUNFILES / "accel")}
    command = [sys.executable, "-m", "tests.e2e.kills_test", "--seed", str(number), "--kills", str(size), "--result", str(file)]
    program = subprocess.Popen([*command, "Kills"], env=environment, cwd=_RUNFILES / "accel", stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    try:
        output = program.communicate()[0].decode()
    except KeyboardInterrupt:
        program.communicate(timeout=60)  # The program received the signal too, and ends its cluster.
        raise
    # A round with violations has failed and has a summary. Any other failure has none.
    if program.returncode != 0:
        print(f"  {' '.join(command)} failed:\n{output[-2000:]}", flush=True)
    if not file.exists():
        raise RuntimeError(f"round {number} has no result; --resume {file.parent} repeats it")


def _medians(summaries):
    kinds = {kind for summary in summaries for kind in summary["recovery_seconds"]}
    values = {kind: [each for summary in summaries for each in summary["recovery_seconds"].get(kind, [])] for kind in sorted(kinds)}
    return {f"{kind}_s": statistics.median(each) for kind, each in values.items() if each}


def _print_total(summaries):
    events = {}
    for summary in summaries:
        for what, count in summary["events"].items():
            events[what] = events.get(what, 0) + count
    print("  events: " + ", ".join(f"{count} {what}" for what, count in sorted(events.items())))
    print("  total: " + ", ".join(f"{sum(each[key] for each in summaries)} {key}" for key in _COUNTS))
    print("  median recovery: " + ", ".join(f"{kind} {value:.3f}" for kind, value in _medians(summaries).items()))
    for summary in summaries:
        for text in summary["violations"]:
            print(f"  round with --seed {summary['seed']}: {text}")
