"""Starts `accel launch` on a function, and collects results. _worker.py is the other side of the files."""

import codecs
import json
import os
import pathlib
import pickle
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile

_WORKER = str(pathlib.Path(__file__).with_name("_worker.py"))
_BLOCK = 65536


class WorkerError(RuntimeError):
    """The first failure of a launch.

    rank       -- the rank that failed first, or None if `accel launch` itself failed
    exit_code  -- that of `accel launch`: the worker's, or 128 + N for signal N
    traceback  -- the worker's traceback as text; empty if the function raised nothing, as after a signal

    If the function raised an exception that can be unpickled here, it is the cause (`__cause__`) of this one.
    """

    def __init__(self, message, rank=None, exit_code=1, traceback=""):
        super().__init__(message)
        self.rank, self.exit_code, self.traceback = rank, exit_code, traceback


def launch(function, args=(), kwargs=None, *, program=None, **flags):
    """Runs function(*args, **kwargs) in several processes and returns their results in the order of ranks.

    flags    -- those of `accel launch`, without their dashes: num_processes=2, cpu=True, mixed_precision="bf16"
    program  -- path of `accel`; by default, the variable ACCEL_PROGRAM, then PATH

    The function and its arguments travel by cloudpickle, so functions of a notebook and lambdas work. Modules are
    imported again in each process. Output of the processes goes to sys.stdout and sys.stderr. Blocks until the end;
    an interrupt ends the processes first, and a second one kills them. The processes end with this one.

    Raises WorkerError for the first failure, FileNotFoundError if there is no program `accel`, ModuleNotFoundError if
    there is no cloudpickle, and what cloudpickle raises for a function that cannot be pickled.
    """
    try:
        import cloudpickle  # Importing accel must not need it, because the errors are useful without it.
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("accel.launch() needs cloudpickle: pip install cloudpickle, or apt install "
                                  "python3-cloudpickle", name=error.name) from None
    found = program or os.environ.get("ACCEL_PROGRAM") or shutil.which("accel")
    if not found:
        raise FileNotFoundError("there is no program accel in PATH; install it, or give program=PATH")
    with tempfile.TemporaryDirectory(prefix="accel.call.") as name:
        folder = pathlib.Path(name)
        (folder / "path.json").write_text(json.dumps(sys.path))
        (folder / "call.pickle").write_bytes(cloudpickle.dumps((function, tuple(args), dict(kwargs or {}))))
        command = [found, "launch", "--parent", str(os.getpid()), "--end_file", str(folder / "end.json"), "--python",
                   sys.executable, *_words(_on_this_machine(flags)), _WORKER, str(folder)]
        last = _run(command)
        return _results(folder, *last)


def _on_this_machine(flags):
    """Adds the number of machines, because a step of Slurm around this process may have several."""
    return flags if {"num_machines", "nnodes", "coordinator"} & flags.keys() else {"num_machines": 1, **flags}


def _words(flags):
    """Returns flags as words of a command line."""
    words = []
    for name, value in flags.items():
        if value is None:
            continue
        values = value if isinstance(value, (list, tuple)) else [value]
        # A configuration file may say true, so false is a choice too.
        words += [f"--{name}={str(each).lower()}" if isinstance(each, bool) else f"--{name}={each}" for each in values]
    return words


def _run(command):
    """Runs the command and copies its output. Returns its exit code and the last line of its standard error."""
    # In a session of its own, because a notebook interrupts the whole process group of its kernel.
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True)
    with process.stdout, process.stderr:
        copy = _Copy(process)
        interrupted = None
        while True:
            try:
                while copy.step():
                    pass
                code = process.wait()
                break
            except BaseException as error:  # The processes must end, whatever ends this call.
                process.send_signal(signal.SIGINT)
                interrupted = error
    if interrupted is not None:
        raise interrupted
    return code, copy.last_error


class _Copy:
    """Copies the output of a process to sys.stdout and sys.stderr."""

    def __init__(self, process):
        self.last_error = ""
        self._selector = selectors.DefaultSelector()
        for pipe, name in ((process.stdout, "stdout"), (process.stderr, "stderr")):
            decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
            self._selector.register(pipe, selectors.EVENT_READ, (name, decoder))

    def step(self):
        """Waits for output and copies it. Returns False at the end of both streams, also if called again."""
        if not self._selector.get_map():  # select() would wait forever.
            return False
        for key, _ in self._selector.select():
            name, decoder = key.data
            data = os.read(key.fd, _BLOCK)
            text = decoder.decode(data, final=not data)
            if not data:
                self._selector.unregister(key.fileobj)
            if name == "stderr":
                self.last_error = next((line for line in reversed(text.splitlines()) if line), self.last_error)
            stream = getattr(sys, name)  # Read each time, because a notebook replaces them.
            stream.write(text)
            stream.flush()
        return bool(self._selector.get_map())


def _results(folder, code, last_error):
    """Returns the results, or raises the first error."""
    try:
        job = json.loads((folder / "end.json").read_text())
    except FileNotFoundError:
        raise WorkerError(last_error.removeprefix("accel: ") or f"accel launch exited with code {code}", exit_code=code) from None
    if code != 0:
        _raise_first_error(folder, job, code, last_error)
    last = job["generations"][-1]
    world = sum(part["processes"] for part in last["placements"])
    return [_result(folder, last.get("generation", len(job["generations"])), rank) for rank in range(world)]


def _result(folder, generation, rank):
    try:
        return pickle.loads((folder / f"result.{generation}.{rank}").read_bytes())
    except FileNotFoundError:
        raise WorkerError(f"rank {rank} exited with code 0 before the function returned", rank=rank, exit_code=0) from None


def _raise_first_error(folder, job, code, last_error):
    cause = job.get("cause") or {}
    rank = cause.get("rank", -1)
    error = folder / f"error.{cause.get('generation')}.{rank}"
    try:
        kept = json.loads(error.with_name(f"{error.name}.json").read_text())
    except FileNotFoundError:
        text = "\n".join([f"rank {rank} {_how(cause)}" if rank >= 0 else last_error.removeprefix("accel: "), *cause.get("last_lines", [])])
        raise WorkerError(text, rank=rank if rank >= 0 else None, exit_code=code) from None
    original = None
    try:
        original = pickle.loads(error.read_bytes())
    except Exception:  # The text says it all. Unpickling may fail with any exception.
        pass
    raise WorkerError(f"rank {rank}: {kept['type']}: {kept['message']}\n\n{kept['traceback']}", rank=rank, exit_code=code,
                      traceback=kept["traceback"]) from original


def _how(cause):
    """Describes the end of a process that has left no error."""
    end = cause.get("exit", {})
    message = end.get("message")
    if end.get("kind") == "SIGNALLED":
        name = signal.Signals(end["signal"]).name if end["signal"] in list(signal.Signals) else "a signal"
        how = f"was killed by signal {end['signal']} ({name})" + (", because memory ran out" if end.get("out_of_memory") else "")
    elif end.get("kind") == "EXITED" or not message:
        how = f"exited with code {end.get('code')}"
    else:
        return message
    return f"{how}: {message}" if message else how
