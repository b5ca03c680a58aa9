"""Compares the rendezvous store with torch's own server: bench/store/store_bench, whose clients are LibTorch's."""

import json
import pathlib
import subprocess
import tempfile

from bench import harness


def compare(pairs):
    print("\n== store: set and get of 100 B, 64 waiters; must reach: >= 1.0 times torch's rate, <= 0.9 times its CPU, "
          "woken no later", flush=True)
    with tempfile.TemporaryDirectory(prefix="accel-bench-") as folder:
        out = pathlib.Path(folder) / "store.json"
        subprocess.run([str(harness.BIN / "bench/store/store_bench"), "--pairs", str(pairs), "--json", str(out)], check=True)
        return {"name": "store", **json.loads(out.read_text())}
