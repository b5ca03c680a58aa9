"""What people see: `accel status --watch`, colors, the pager of `accel logs`, and the help and manual pages of every
program."""

import json
import re
import shutil
import subprocess

from tests.e2e import cluster
from tests.e2e.terminal import Terminal

PROGRAMS = {"accel-coordinator": cluster.COORDINATOR, "accel-agent": cluster.AGENT, "accel-shim": cluster.SHIM}


class Watching(cluster.ClusterTest):
    def held_job(self):
        """Submits a job that runs until the file `end` exists. Returns its id."""
        script = self.script("until [ -e end ]; do sleep 0.05; done")
        job = self.accel("submit", "--cpu", script).out.strip()
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "RUNNING", 60, "the job runs")
        return job

    def test_a_pipe_gets_a_line_for_each_change(self):
        job = self.held_job()
        watch = self.start(cluster.ACCEL, "status", "--watch", job)
        self.assertRegex(watch.stdout.readline().decode(), rf"^\d\d:\d\d:\d\d {job} RUNNING")
        self.path("end").touch()
        result = self.finish(watch)
        self.assertEqual(result.code, 0)
        self.assertRegex(result.out, rf"\d {job} SUCCEEDED")
        self.assertNotIn("\x1b", result.out)

    def test_json_has_a_line_for_each_change(self):
        job = self.held_job()
        self.path("end").touch()
        lines = self.accel("status", "--watch", "--json", job).out.splitlines()
        self.assertEqual(json.loads(lines[-1])["phase"], "SUCCEEDED")
        self.assertEqual(json.loads(lines[-1])["schema_version"], 1)

    def test_a_terminal_gets_a_text_that_is_drawn_in_place(self):
        job = self.held_job()
        self.env["TERM"] = "xterm"
        terminal = Terminal(self, cluster.ACCEL, "status", "--watch", job)
        terminal.expect(b"\x1b[32mRUNNING\x1b[0m")
        terminal.expect(b"A\r\x1b[?7l")  # The cursor goes up to the first line.
        self.path("end").touch()
        terminal.expect(b"\x1b[32mSUCCEEDED\x1b[0m")
        self.assertEqual(terminal.finish(), 0)

    def test_no_color_is_obeyed(self):
        self.submit("true")
        self.env["TERM"] = "xterm"
        colored = Terminal(self, cluster.ACCEL, "status")
        colored.expect(b"\x1b[32mSUCCEEDED\x1b[0m")
        colored.finish()
        for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
            with self.subTest(name):
                self.env[name] = value
                plain = Terminal(self, cluster.ACCEL, "status")
                plain.finish()
                self.assertIn(b"SUCCEEDED", plain.out)
                self.assertNotIn(b"\x1b", plain.out)
                self.env.pop("NO_COLOR", None)


class Json(cluster.ClusterTest):
    """Each document of docs/json.md, with its fields."""

    def document(self, *command):
        result = self.accel(*command)
        self.assertEqual(result.code, 0, result)
        document = json.loads(result.out)
        self.assertEqual(next(iter(document)), "schema_version")
        self.assertEqual(document.pop("schema_version"), 1)
        return document

    def test_every_command_that_prints_data(self):
        job = self.submit("echo", "a line").out.split()[0]
        self.assertEqual([found["job_id"] for found in self.document("status", "--json")["jobs"]], [job])
        self.assertEqual(self.document("status", job, "--json")["phase"], "SUCCEEDED")
        self.assertEqual(set(self.document("nodes", "--json")) & {"nodes", "heartbeat_ms", "node_timeout_ms"},
                         {"nodes", "heartbeat_ms", "node_timeout_ms"})
        self.assertEqual(set(self.document("submit", "--cpu", "--json", "true")), {"job_id"})
        self.assertEqual(self.document("logs", job, "--json"), {"rank": 0, "stream": "stdout", "text": "a line"})
        env = self.document("env", "--json")
        self.assertEqual(env["facts"]["accel"], self.accel("--version").out.split()[1])
        self.assertGreaterEqual(env["processors"], env["cores"])
        self.assertGreater(env["memory_bytes"], 1 << 20)
        self.assertIsInstance(env["gpus"], list)
        self.assertEqual(set(env["limits"]), {"open_files", "processes", "locked_memory_bytes"})
        self.assertEqual(self.document("cancel", "--json", job),
                         {"job_id": job, "had_ended": True, "phase_before": "SUCCEEDED"})
        self.assertEqual(set(self.document("whoami", "--json")), {"kind", "name", "role", "serial", "cluster_id"})
        for members in ("node", "user"):
            self.assertEqual(set(self.document(members, "list", "--json")), {"members", "credentials", "tokens"})

    def test_a_launch_that_is_only_planned(self):
        self.script("exec true", "train")
        plan = self.document("launch", "--cpu", "--num_processes", 2, "--dry_run", "--json", "./train", "a b")
        self.assertEqual(plan["processes_per_node"], [2])
        self.assertEqual(plan["command"], [f"{self.dir}/train", "a b"])
        self.assertEqual(plan["variables"]["WORLD_SIZE"], "2")
        self.assertEqual([own["RANK"] for own in plan["variables_of_ranks"]], ["0", "1"])

    def test_the_settings_of_a_launch(self):
        settings = self.document("config", "explain", "--json", "--cpu", "--num_processes", 2)["settings"]
        [processes] = [setting for setting in settings if setting["name"] == "num_processes"]
        self.assertEqual(processes, {"name": "num_processes", "value": "2", "source": "flag --num_processes"})
        settings = self.document("config", "explain", "--json", "--cpu")["settings"]
        derived = {setting["name"]: setting["value"] for setting in settings if setting["source"] == "derived"}
        self.assertEqual(derived, {"num_processes": "1", "num_cpu_threads_per_process": "1"})

    def test_the_memory_of_a_model(self):
        config = {"model_type": "bert", "vocab_size": 100, "hidden_size": 8, "num_hidden_layers": 1,
                  "num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 16,
                  "type_vocab_size": 2}
        self.path("config.json").write_text(json.dumps(config))
        model = self.document("estimate-memory", "--json", "--dtypes", "float32,int8", "config.json")
        self.assertEqual([row["dtype"] for row in model["dtypes"]], ["float32", "int8"])
        float32, int8 = model["dtypes"]
        self.assertEqual(float32["total_bytes"], 4 * int8["total_bytes"])
        self.assertEqual(float32["training_bytes"], 4 * float32["total_bytes"])
        self.assertIsNone(int8["training_bytes"])


class LogsOnATerminal(cluster.ClusterTest):
    def test_output_goes_through_the_pager(self):
        job = self.submit("echo", "a line").out.split()[0]
        self.env["ACCEL_PAGER"] = "sed s/^/paged:/"
        paged = Terminal(self, cluster.ACCEL, "logs", job)
        self.assertEqual(paged.finish(), 0)
        self.assertIn(b"paged:a line", paged.out)
        for flags in (["--no_pager"], ["--follow"]):
            plain = Terminal(self, cluster.ACCEL, "logs", job, *flags)
            self.assertEqual(plain.finish(), 0)
            self.assertIn(b"a line", plain.out)
            self.assertNotIn(b"paged:", plain.out)
        self.assertEqual(self.accel("logs", job).out, "a line\n")  # A pipe.

    def test_a_pager_that_does_not_exist_loses_nothing(self):
        job = self.submit("echo", "a line").out.split()[0]
        self.env["ACCEL_PAGER"] = "no-such-pager"
        paged = Terminal(self, cluster.ACCEL, "logs", job)
        self.assertEqual(paged.finish(), 0)
        self.assertIn(b"a line", paged.out)

    def test_a_pager_is_no_way_around_the_escaping(self):
        job = self.submit("printf", r"\033]0;title\007\n").out.split()[0]
        self.env["ACCEL_PAGER"] = "sed s/^/paged:/"
        paged = Terminal(self, cluster.ACCEL, "logs", job)
        paged.finish()
        self.assertIn(rb"paged:\x1b]0;title\x07", paged.out)


class Help(cluster.Test):
    def commands(self):
        """Returns the arguments of every command of accel, found by its completion."""
        def words(*before):
            return [line.split("\t")[0] for line in self.accel("completion", "candidates", *before, "").out.splitlines()]

        names = [name for name in words() if name != "help"]
        self.assertGreater(len(names), 10)
        parts = [["config", part] for part in words("config") if not part.startswith(":")]
        self.assertEqual(len(parts), 4)
        return [[name] for name in names] + parts

    def test_every_program_and_command_has_help_in_one_style(self):
        calls = [(cluster.ACCEL, *command) for command in self.commands()]
        calls += [(program,) for program in PROGRAMS.values()]
        for call in calls:
            with self.subTest(call):
                result = self.run_command(*call, "--help")
                self.assertEqual((result.code, result.err), (0, ""))
                self.assertRegex(result.out, r"^Usage: accel[-\w]*( [^\n]+)?\n\n[A-Z]")
                self.assertIn("\nFlags:\n", result.out)
                self.assertRegex(result.out, r"\n  (-h, )?--help\n      print this and exit\n")
                self.assertNotRegex(result.out, r"--\w+-\w+,|,--")
                self.assertLessEqual(max(map(len, result.out.splitlines())), 100)

    def test_help_that_cannot_be_printed_is_an_error(self):
        for program in (cluster.ACCEL, *PROGRAMS.values()):
            for flag in ("--help", "--help_man", "--version"):
                with self.subTest(program, flag=flag):
                    result = self.run_command("/bin/sh", "-c", '"$0" "$1" >/dev/full', program, flag)
                    self.assertEqual(result.code, 1, result)

    def test_an_answer_that_cannot_be_printed_is_an_error(self):
        state = self.path("agent")
        state.mkdir()
        result = self.run_command("/bin/sh", "-c", '"$0" --state_dir "$1" --forget_cluster >/dev/full', cluster.AGENT, state)
        self.assertEqual(result.code, 1, result)
        self.assertIn("accel-agent: cannot write the answer to standard output: No space left on device", result.err)

    def test_manual_pages_have_every_flag_and_no_error(self):
        calls = [(cluster.ACCEL,)] + [(cluster.ACCEL, *command) for command in self.commands()]
        calls += [(program,) for program in PROGRAMS.values()]
        for call in calls:
            with self.subTest(call):
                page = self.run_command(*call, "--help_man").out
                self.assertTrue(page.startswith('.TH "ACCEL'), page[:100])
                if len(call) > 1:
                    help_all = self.run_command(*call, "--help_all" if call[-1] == "launch" else "--help").out
                    for flag in re.findall(r"\n  (?:-\w, )?--(\w+)", help_all):
                        self.assertIn(f"\\-\\-{flag}\\fR", page)
                if shutil.which("man"):
                    shown = subprocess.run(["man", "--warnings", "-l", "-"], input=page, capture_output=True, text=True,
                                           env={"PATH": "/usr/bin:/bin", "MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
                    self.assertEqual(shown.stderr, "")
                    self.assertIn("SYNOPSIS", shown.stdout)

    def test_versions(self):
        for name, program in {"accel": cluster.ACCEL, **PROGRAMS}.items():
            self.assertRegex(self.run_command(program, "--version").out, rf"^{name} \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    cluster.main()
