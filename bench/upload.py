"""Measures how long a program takes to travel to two nodes: `accel submit --upload` against rsync."""

import os
import pathlib
import shutil
import tempfile
import threading

from bench import harness

FILES = 2_000
FILE_BYTES = 100_000


def travel(pairs):
    """Sends 200 MB of random bytes, because they cannot be compressed. accel's time is that of a job on both nodes that
    does nothing: from the command, over TLS, to the end of the job, with all files durable at the coordinator. rsync
    copies to two folders of this machine at the same time, without a network, encryption or fsync."""
    first = harness.Benchmark(f"upload of {FILES * FILE_BYTES // 1_000_000} MB in {FILES} files to 2 nodes, first time", "s",
                              "<= 1.3 times rsync's time")
    again = harness.Benchmark("the same, when nothing has changed", "s", "<= 0.3 s")
    with tempfile.TemporaryDirectory(prefix="accel-bench-", dir=harness.DISK) as all_pairs:
        for pair in range(pairs):
            folder = pathlib.Path(all_pairs, str(pair))
            project = _project(folder / "project")
            copies = [folder / f"copy{i}" for i in (1, 2)]
            with harness.Cluster(agents=2, tcp=True, folder=folder) as cluster:
                submit = [harness.ACCEL, "submit", "--coordinator", cluster.tcp, "--cpu", "--nodes", 2, "--upload", project,
                          "--wait", "--", "/bin/true"]
                for bench in (first, again):
                    peer = _peer(project, copies)
                    os.sync()  # accel's own syncs must not have to write the files of others.
                    bench.add(**peer, accel=harness.wall(submit, cluster.env)[0])
            _empty(folder)
    return [first.summary(), again.summary()]


def _empty(folder):
    """Frees the space of all files and keeps the files. If thousands of files were removed, ext4 would search for each
    file that it creates in the next minute or more. That would take most of the time of the next pair."""
    for parent, _, files in os.walk(folder):
        for name in files:
            path = os.path.join(parent, name)
            if os.path.isfile(path) and not os.path.islink(path):
                os.truncate(path, 0)


def _project(folder):
    for i in range(FILES):
        file = folder / f"package{i % 20}/file{i}.bin"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(os.urandom(FILE_BYTES))
    return folder


def _peer(project, copies):
    """Returns a column with rsync's time, or no column if this machine does not have rsync."""
    rsync = shutil.which("rsync")
    if rsync is None:
        print("  rsync is not installed, so it is not measured", flush=True)
        return {}
    seconds = []
    threads = [threading.Thread(target=lambda to=copy: seconds.append(harness.wall([rsync, "-a", f"{project}/", f"{to}/"])[0]))
               for copy in copies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(seconds) < len(copies):
        raise RuntimeError("rsync failed")
    return {"rsync": max(seconds)}
