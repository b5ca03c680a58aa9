"""One process of accel.launch(): reads the function from a folder, calls it, and writes its result or error there.

It is executed as a file, and its own folder leaves the search path before anything of the caller is imported.
"""

import atexit
import contextlib
import json
import os
import pickle
import sys
import threading
import traceback


def _write(path, data):
    """A reader sees a whole file or none, even if this process is killed."""
    part = f"{path}.part.{os.getpid()}"
    with open(part, "wb") as file:
        file.write(data)
    os.replace(part, path)


def _keep_error(path, error):
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    record = {"type": type(error).__name__, "message": str(error), "traceback": text}
    try:
        import cloudpickle

        _write(path, cloudpickle.dumps(error.with_traceback(None)))
    except Exception:  # Not every exception can be pickled. The text is kept all the same.
        pass
    _write(f"{path}.json", json.dumps(record).encode())
    sys.stderr.write(text)


def main(folder):
    rank = int(os.environ.get("RANK", 0))
    which = f"{os.environ['ACCEL_GENERATION']}.{rank}"  # A restarted rank must not be taken for its predecessor.
    try:
        with open(os.path.join(folder, "path.json")) as file:
            sys.path[:] = json.load(file)
        with open(os.path.join(folder, "call.pickle"), "rb") as file:
            function, args, kwargs = pickle.load(file)
        import cloudpickle

        result = cloudpickle.dumps(function(*args, **kwargs))
    except Exception as error:
        _keep_error(os.path.join(folder, f"error.{which}"), error)
        return 1
    _write(os.path.join(folder, f"result.{which}"), result)
    return 0


def _exit(code):
    """Ends as sys.exit() does, except that the interpreter's objects are not destroyed: a thread of Gloo that releases a
    tensor meanwhile would abort the process, whose result is complete (PyTorch 2.11)."""
    threading._shutdown()  # Ends pools of threads, and waits for threads, as the interpreter does.
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    _exit(main(sys.argv[1]))
