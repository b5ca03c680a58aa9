"""Runs the commands of the documentation, unchanged, against a coordinator and two agents."""

import json
import pathlib
import re
import signal

from tests.docs import pages
from tests.e2e import cluster

# Replacements for the programs on the pages, because this test is about the commands.
_TRAIN = "#!/bin/sh\necho rank ${RANK:-0} of ${WORLD_SIZE:-1}\n"
_TRAIN_PY = "import os\nprint('rank', os.environ.get('RANK', 0), 'of', os.environ.get('WORLD_SIZE', 1))\n"


class Documentation(cluster.ClusterTest):
    AGENTS = 2
    NODE_TIMEOUT = 8  # The agents of pages end, and then get no jobs.

    def setUp(self):
        # The commands must not depend on the GPUs of the machine.
        self.gpus = {"CUDA_VISIBLE_DEVICES": ""}
        super().setUp()
        programs = self.path("bin")
        programs.mkdir()
        for program in (cluster.ACCEL, cluster.COORDINATOR, cluster.AGENT, cluster.SHIM):
            (programs / pathlib.Path(program).name).symlink_to(program)
        self.env["PATH"] = f"{programs}:{self.env['PATH']}"
        self.path("train").write_text(_TRAIN)
        self.path("train").chmod(0o755)
        self.path("train.py").write_text(_TRAIN_PY)
        self.job = None

    def start(self, *command, env=None, **options):
        return super().start(*command, env={**self.gpus, **(env or {})}, **options)

    def run_page(self, name):
        run = [command for command in pages.commands(name, pages.pages()[name]) if command.is_run]
        self.assertTrue(run, f"{name} has no command")
        if any(re.search(r"\bJOB\b", command.text) for command in run):
            self.job = self.submit("./train").out.split()[0]
        for command in run:
            with self.subTest(command=command.text, where=command.where):
                self.run_one(command)

    def run_one(self, command):
        text = re.sub(r"\bJOB\b", self.job or "", command.text)
        text = text.replace("/var/lib/accel", f"{self.dir}/documented")
        text = re.sub(r"^bazel-bin/", cluster.runfile("") + "/", text)
        serves = not re.search("--help|--forget_cluster", text)
        if re.match(r"accel-(coordinator|agent)", text) and command.exit_code == 0 and serves:
            return self.run_daemon(text)
        result = self.run_command("/bin/bash", "-e", "-c", text)
        self.assertEqual(result.code, command.exit_code, f"{command.where}: {text}\n{result}")
        if text.startswith("accel submit") and "--dry_run" not in text and command.exit_code == 0:
            self.job = result.out.split()[0]
            cluster.wait_until(self.job_is_over, 60, f"job {self.job} ends")

    def job_is_over(self):
        return json.loads(self.accel("status", self.job, "--json").out)["phase"] in ("SUCCEEDED", "FAILED", "CANCELLED")

    def run_daemon(self, text):
        """Checks that a daemon serves until SIGTERM, and then exits with 0."""
        is_agent = text.startswith("accel-agent")
        # A coordinator of a page gets a socket that is not the test's.
        env = {} if is_agent else {"ACCEL_COORDINATOR": f"unix:{self.socket}.documented"}
        with open(self.path("documented.log"), "wb") as log:
            daemon = self.start("/bin/bash", "-c", f"exec {text}", env=env, stderr=log)
        if is_agent:
            # The coordinator may list an earlier agent with this name as connected.
            cluster.wait_until(lambda: "connected to the coordinator" in self.log("documented"), 60, "the agent has connected")
            self.wait_for_nodes(self.AGENTS + 1)
        else:
            self.assertIn(f"listening on unix:{self.socket}.documented", daemon.stdout.readline().decode())
        daemon.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(daemon).code, 0, text)


def add_tests():
    for name, text in pages.pages().items():
        if any(command.is_run for command in pages.commands(name, text)):
            words = re.sub(r"\W", "_", name.removesuffix(".md").lower())
            setattr(Documentation, f"test_{words}", lambda self, name=name: self.run_page(name))


add_tests()


class WorkerEnvironment(cluster.ClusterTest):
    """Compares docs/environment.md with the environment of real workers."""

    AGENTS = 2

    def expect(self, result, *cases):
        self.assertEqual(result.code, 0, result)
        lines = [re.sub(r"^\[rank \d+\] ", "", line) for line in result.out.splitlines()]
        seen = {line.partition("=")[0] for line in lines if re.match(r"\w+=", line)}
        rows = pages.table(pages.pages()["docs/environment.md"], "variable")
        documented = {row[0] for row in rows if {"always", *cases} & set(row[2].split("; "))}
        self.assertEqual(seen - set(self.env), documented)

    def test_one_process(self):
        self.expect(self.launch("env"), "accel launch", "one process of accel launch --cpu")

    def test_several_processes(self):
        self.expect(self.launch("--num_processes", 2, "--debug", "env"), "accel launch", "several processes",
                    "several processes on the node", "--debug")

    def test_several_nodes(self):
        job = self.submit("--nodes", 2, "env").out.split()[0]
        self.expect(self.accel("logs", job), "several processes", "several nodes")


if __name__ == "__main__":
    cluster.main()
