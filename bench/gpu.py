"""A data parallel training step on a GPU: one rank, and two NCCL ranks that share one GPU.

Needs the programs in bazel-bin, and a python3 with PyTorch and Accelerate (ACCEL_PYTHON). It needs neither Bazel nor a
cluster, because it starts the ranks directly: a launcher would not give one GPU to two ranks."""

import functools
import os
import pathlib
import socket
import subprocess
import tempfile

from bench import harness

WORKER = [harness.BIN / "bench/worker/gpu_step"]
PYTHON_WORKER = [harness.PYTHON, harness.ROOT / "bench/workers/gpu_step.py"]
PLUGIN = harness.BIN / "runtime/nccl/libaccel_nccl.so"

# Ranks, width, layers, rows, precision, timed steps, and whether the model is saved. The time of the small size is that
# of the host, which launches about 1,000 kernels a step. The large size has the 113 million parameters of a GPT-2.
SIZES = [("1 rank, 6 M parameters, fp32", 1, 256, 12, 256, "no", 50, False),
         ("1 rank, 113 M parameters, bf16", 1, 768, 24, 4096, "bf16", 20, True),
         ("2 ranks on one GPU, 6 M parameters, fp32", 2, 256, 12, 256, "no", 20, False)]


def step(pairs):
    """The columns `python_fused` and `python_foreach` are Accelerate with the two forms of torch.optim.AdamW;
    `accel_fused` is accel::optim::AdamW, and `accel_loop` torch::optim::AdamW."""
    gpus = _gpu_count()
    if gpus == 0:
        print("\n== GPU step: skipped, because PyTorch sees no GPU on this machine", flush=True)
        return []
    results = []
    for size in SIZES:
        results += _compare(pairs, *size)
    return results


def _compare(pairs, what, ranks, width, layers, rows, precision, steps, is_saved):
    arguments = [width, layers, rows, precision, steps]
    runs = []
    print(f"\n{what}: {pairs} pairs", flush=True)
    for _ in range(pairs):
        runs.append((_run(PYTHON_WORKER, ranks, arguments, is_saved), _run(WORKER, ranks, arguments, is_saved)))
    results = []
    for kind, text in (("step", "GPU step"), ("clip", "GPU step with clip_grad_norm_")):
        bench = harness.Benchmark(f"{text}, {what}", "us", "accel <= 0.9 of python's best")
        for python, accel in runs:
            bench.add(**{f"python_{key}": python[f"{kind}_{key}"] for key in ("fused", "foreach")},
                      **{f"accel_{key}": accel[f"{kind}_{key}"] for key in ("fused", "loop")})
        results.append(bench.summary())
    if is_saved:
        bench = harness.Benchmark(f"save_state, {what}, with AdamW's moments", "us", "accel's stall <= 0.1 of python's")
        for python, accel in runs:
            bench.add(python_stall=python["stall"], accel_stall=accel["stall"], python_durable=python["durable"],
                      accel_durable=accel["durable"])
        results.append(bench.summary())
    return results


@functools.lru_cache(maxsize=None)
def _torch():
    """Returns PyTorch's folder and the number of GPUs that it sees."""
    _, out = harness.wall([harness.PYTHON, "-c", "import torch; print(torch.__path__[0]); print(torch.cuda.device_count())"])
    folder, count = out.split()
    return pathlib.Path(folder), int(count)


def _gpu_count():
    return _torch()[1]


def _environment():
    """The variables by which the worker finds LibTorch and CUDA in PyTorch's folders, wherever these are."""
    torch = _torch()[0]
    libraries = [torch / "lib", *sorted(torch.parent.glob("nvidia/*/lib"))]
    return {"ACCEL_NCCL_LIBRARY": str(PLUGIN), "OMP_NUM_THREADS": "4",
            "LD_LIBRARY_PATH": ":".join([*map(str, libraries), os.environ.get("LD_LIBRARY_PATH", "")])}


def _rank_environment(rank, ranks, port):
    """Returns the variables that let several ranks share a GPU. NCCL allows this only if the ranks seem to be on
    different hosts, so they communicate through sockets."""
    return {"RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1",
            "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "NCCL_HOSTID": f"bench-{rank}",
            "NCCL_SOCKET_IFNAME": "lo", "NCCL_NET": "Socket", "NCCL_IB_DISABLE": "1"}


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _run(worker, ranks, arguments, is_saved):
    """Runs one peer. Returns its figures by name, after a check that it used what it was asked to use."""
    with tempfile.TemporaryDirectory(prefix="accel-bench-", dir=harness.DISK) as folder:
        command = [str(part) for part in [*worker, *arguments, *([folder + "/checkpoint"] if is_saved else [])]]
        port = _free_port()
        processes = []
        try:
            for rank in range(ranks):
                env = {**os.environ, "CUDA_VISIBLE_DEVICES": "0", **_environment()}
                if ranks > 1:
                    env |= _rank_environment(rank, ranks, port)
                processes.append(subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                                  stderr=subprocess.PIPE, text=True))
            outputs = [process.communicate(timeout=180) for process in processes]
        finally:
            for process in processes:
                process.kill()
                process.wait()
    for process, (_, errors) in zip(processes, outputs):
        if process.returncode != 0:
            raise RuntimeError(f"{command} exited with {process.returncode}:\n{errors[-2000:]}")
    figures = dict(line.split() for line in outputs[0][0].splitlines())
    _check(command, figures)
    return {key: float(value) for key, value in figures.items()}


def _check(command, figures):
    if not figures.pop("device", "none").startswith("cuda"):
        raise RuntimeError(f"{command} did not use the GPU")
    for key, value in figures.items():
        if key.startswith("fused_") and value != str(int(key == "fused_fused")):
            raise RuntimeError(f"{command}: {key} is {value}, so it ran another optimizer than its rows say")
