"""One process of accel.launch(): reads the function from a folder, calls it, and writes its result or error there.

It is executed as a file, and its own folder leaves the search path before anything of the caller is imported.
"""

import json
import os
import pickle
import sys
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
