"""accel.launch() of Python: a function in several processes, called by a script and by a notebook."""

import json
import os
import pathlib
import signal
import tomllib

from tests.e2e import cluster

PACKAGE = cluster.runfile("python")
_HEAD = "import accel, os, signal, sys\n"
# Executes a real notebook of these cells in a real kernel, and prints the cells with their outputs.
_RUN_NOTEBOOK = """
import json, sys
import nbclient, nbformat
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in json.load(open(sys.argv[1]))])
nbclient.NotebookClient(notebook, timeout=300, allow_errors=True).execute()
print(json.dumps([cell.outputs for cell in notebook.cells]))
"""


class Functions(cluster.Test):
    def setUp(self):
        super().setUp()
        programs = pathlib.Path(cluster.ACCEL).parent
        self.env.update({"PYTHONPATH": PACKAGE, "PATH": f"{programs}:{self.env['PATH']}", "CUDA_VISIBLE_DEVICES": ""})

    def run_script(self, text):
        return self.run_command(cluster.PYTHON, self.python(_HEAD + text))

    def test_results_in_the_order_of_ranks(self):
        result = self.run_script("""
def f(a, b):
    print("output of", os.environ["RANK"])
    return a, b, os.environ["RANK"], os.environ["WORLD_SIZE"]
print(accel.launch(f, args=(1,), kwargs={"b": "x"}, num_processes=3, cpu=True))
print(accel.launch(lambda: os.environ.get("RANK"), cpu=True, num_processes=1))
""")
        self.assertEqual(result.code, 0, result)
        self.assertIn("[(1, 'x', '0', '3'), (1, 'x', '1', '3'), (1, 'x', '2', '3')]\n", result.out)
        self.assertTrue(result.out.endswith("[None]\n"), result)
        for rank in range(3):
            self.assertIn(f"[rank {rank}] output of {rank}\n", result.out)

    def test_the_first_error_has_its_rank_and_traceback(self):
        result = self.run_script("""
def f():
    if os.environ["RANK"] == "1":
        {}["missing"]
    signal.pause()
try:
    accel.launch(f, num_processes=2, cpu=True)
except accel.WorkerError as error:
    print("rank", error.rank, repr(error.__cause__), error.exit_code)
    assert '{}["missing"]' in error.traceback or "in f" in error.traceback, error.traceback
    assert str(error).startswith("rank 1: KeyError: 'missing'"), str(error)
""")
        self.assertEqual(result.code, 0, result)
        self.assertIn("rank 1 KeyError('missing') 1\n", result.out)

    def test_a_process_that_dies(self):
        result = self.run_script("""
for end in (lambda: os.kill(os.getpid(), signal.SIGKILL), lambda: os._exit(7), lambda: os._exit(0)):
    try:
        accel.launch(lambda: os.environ["RANK"] == "0" or end(), num_processes=2, cpu=True)
    except accel.WorkerError as error:
        print(error.rank, error.exit_code, str(error).splitlines()[0])
""")
        self.assertEqual(result.code, 0, result)
        self.assertIn("1 137 rank 1 was killed by signal 9 (SIGKILL)\n", result.out)
        self.assertIn("1 7 rank 1 exited with code 7\n", result.out)
        self.assertIn("1 0 rank 1 exited with code 0 before the function returned\n", result.out)

    def test_a_restart_leaves_no_old_error(self):
        result = self.run_script(f"""
def f():
    if os.environ["RANK"] == "1":
        if os.environ["ACCEL_GENERATION"] == "1":
            raise ValueError("the first time")
        os.kill(os.getpid(), signal.SIGKILL)
    signal.pause()
try:
    accel.launch(f, num_processes=2, cpu=True, max_restarts=1)
except accel.WorkerError as error:
    print(error)
""")
        self.assertIn("rank 1 was killed by signal 9", result.out)
        self.assertNotIn("the first time", result.out)

    def test_wrong_flags(self):
        result = self.run_script("""
try:
    accel.launch(print, num_proceses=2)
except accel.WorkerError as error:
    print(error.rank, error)
""")
        self.assertIn("None unknown flag --num_proceses", result.out)

    def test_a_process_ends_what_it_has_begun(self):
        result = self.run_script("""
import atexit, threading, time
from concurrent.futures import ThreadPoolExecutor
def f():
    global pool
    pool = ThreadPoolExecutor(1)  # Its thread waits for more until the process ends.
    pool.submit(print, end="").result()
    sys.stdout.write("no newline ")
    atexit.register(lambda: sys.stdout.write("handler "))
    threading.Thread(target=lambda: (time.sleep(0.05), sys.stdout.write("thread "))).start()
accel.launch(f, cpu=True, num_processes=1)
""")
        self.assertEqual((result.code, result.out), (0, "no newline thread handler "), result)

    def test_without_cloudpickle(self):
        self.path("none").mkdir()
        self.path("none/cloudpickle.py").write_text("raise ModuleNotFoundError(\"No module named 'cloudpickle'\")")
        self.env["PYTHONPATH"] = f"{self.path('none')}:{PACKAGE}"
        result = self.run_script("accel.launch(print)")
        self.assertEqual(result.code, 1, result)
        self.assertTrue(result.err.endswith("accel.launch() needs cloudpickle: pip install cloudpickle, or apt install "
                                            "python3-cloudpickle\n"), result)

    def test_the_processes_end_with_the_caller(self):
        script = self.python(_HEAD + f"""
def f():
    with open({str(self.path("pid."))!r} + os.environ["RANK"], "w") as file:
        file.write(str(os.getpid()))
    os.rename(file.name, file.name + ".whole")
    signal.pause()
accel.launch(f, num_processes=2, cpu=True)
""")
        for number, code in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, -signal.SIGINT)):
            with self.subTest(signal=number):
                caller = self.start(cluster.PYTHON, script)
                pids = [int(self.wait_for_file(f"pid.{rank}.whole")) for rank in range(2)]
                caller.send_signal(number)
                self.assertEqual(self.finish(caller).code, code)
                cluster.wait_until(lambda: not any(cluster.is_alive(pid) for pid in pids), 60, "no process is left")
                for rank in range(2):
                    self.path(f"pid.{rank}.whole").unlink()

    def test_an_interrupt_after_the_end_of_the_output(self):
        """The only call that then waits is Popen.wait(). It plays the interrupt once, as if a user pressed Ctrl-C."""
        result = self.run_script("""
import subprocess
wait = subprocess.Popen.wait
def interrupted_wait(process):
    subprocess.Popen.wait = wait
    raise KeyboardInterrupt
subprocess.Popen.wait = interrupted_wait
try:
    accel.launch(print, num_processes=1, cpu=True)
except KeyboardInterrupt:
    print("interrupted")
""")
        self.assertEqual((result.code, result.out), (0, "\ninterrupted\n"), result)

    def test_a_notebook_keeps_its_kernel(self):
        cells = [
            "import accel, os, signal\nkept = 42\ndef f(x):\n    print('hello from', os.environ['RANK'])\n    return x * int(os.environ['RANK'])",
            "accel.launch(f, args=(10,), num_processes=2, cpu=True)",
            "accel.launch(lambda: os.kill(os.getpid(), signal.SIGSEGV), num_processes=2, cpu=True)",
            "accel.launch(lambda: 1 / 0, num_processes=2, cpu=True)",
            "kept",
        ]
        self.path("cells").write_text(json.dumps(cells))
        result = self.run_command(cluster.PYTHON, self.python(_RUN_NOTEBOOK), self.path("cells"), seconds=400)
        self.assertEqual(result.code, 0, result)
        _, good, dead, wrong, kept = json.loads(result.out.splitlines()[-1])
        self.assertEqual([each["data"]["text/plain"] for each in good if each["output_type"] == "execute_result"], ["[0, 10]"])
        printed = "".join(each["text"] for each in good if each["output_type"] == "stream")
        self.assertIn("[rank 1] hello from 1", printed)
        [died] = [each for each in dead if each["output_type"] == "error"]
        self.assertRegex(died["evalue"], r"rank [01] was killed by signal 11 \(SIGSEGV\)")
        [failed] = [each for each in wrong if each["output_type"] == "error"]
        self.assertRegex(failed["evalue"], r"rank [01]: ZeroDivisionError: division by zero")
        self.assertEqual(kept[0]["data"]["text/plain"], "42")

    def test_notebook_launcher_of_accelerate(self):
        """Stock Accelerate starts its processes below a process of ours. It needs a port, and takes none that is 0."""
        port = self.reserved_port()
        script = self.python("""
import sys, accelerate
def f(x):
    state = accelerate.Accelerator()  # PartialState alone does not read that the job uses no GPU.
    assert state.num_processes == 2, state
    total = accelerate.utils.gather_object([state.process_index + x])
    if state.is_main_process:
        print("gathered", total, flush=True)
if __name__ == "__main__":
    accelerate.notebook_launcher(f, (10,), num_processes=2, use_port=sys.argv[1])
""")
        result = self.launch("--num_processes", 1, "--python", cluster.PYTHON, script, port, seconds=300)
        self.assertEqual(result.code, 0, result)
        self.assertIn("gathered [10, 11]", result.out)

    def test_the_package_has_the_version_of_the_programs(self):
        project = tomllib.loads(pathlib.Path(PACKAGE, "pyproject.toml").read_text())["project"]
        self.assertEqual(self.run_command(cluster.ACCEL, "--version").out, f"accel {project['version']}\n")


if __name__ == "__main__":
    cluster.main()
