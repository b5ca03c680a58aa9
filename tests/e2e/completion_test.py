"""Completion in real shells: the scripts of `accel completion`, a cluster's job ids and node names, and a prompt that
never shows an error."""

import os
import shutil
import socket
import time

from tests.e2e import cluster
from tests.e2e.terminal import Terminal

# Runs the function that the script has registered, as bash does when Tab is pressed at the end of LINE.
_BASH = r"""
source <(accel completion bash)
COMP_LINE=$LINE COMP_POINT=${#LINE}
_accel
printf '%s\n' "${COMPREPLY[@]}"
"""


class Completion(cluster.ClusterTest):
    def setUp(self):
        super().setUp()
        programs = self.path("bin")
        programs.mkdir()
        (programs / "accel").symlink_to(cluster.ACCEL)
        self.env["PATH"] = f"{programs}:{self.env['PATH']}"

    def complete(self, line, **env):
        """Returns what bash offers at the end of the line."""
        result = self.run_command("/bin/bash", "-c", _BASH, env={"LINE": line, **env})
        self.assertEqual((result.code, result.err), (0, ""), result)
        return result.out.split()

    def wait_for(self, line, expected):
        """Waits until bash offers this. A coordinator that does not answer within a second is not waited for."""
        cluster.wait_until(lambda: self.complete(line) == expected, 60, f"{line!r} is completed to {expected}")

    def test_commands_flags_and_values(self):
        self.assertEqual(self.complete("accel sta"), ["status"])
        self.assertEqual(self.complete("accel config e"), ["explain"])
        self.assertEqual(self.complete("accel launch --num_pro"), ["--num_processes"])
        self.assertEqual(self.complete("accel launch --num-pro"), ["--num-processes"])
        self.assertEqual(self.complete("accel logs --stream "), ["stdout", "stderr"])
        self.assertEqual(self.complete("accel logs --stream=stde"), ["stderr"])
        self.assertEqual(self.complete("accel launch --mixed_precision f"), ["fp16", "fp8"])
        self.assertEqual(self.complete("accel completion "), ["bash", "zsh", "fish"])
        self.assertEqual(self.complete("accel launch train.py --"), [])

    def test_jobs_and_nodes(self):
        job = self.submit("true").out.split()[0]
        self.wait_for("accel logs ", [job])
        self.wait_for(f"accel status {job[:2]}", [job])
        self.wait_for("accel drain n", ["n1"])
        address = self.env.pop("ACCEL_COORDINATOR")
        self.wait_for(f"accel drain --coordinator {address} ", ["n1"])
        self.env["ACCEL_COORDINATOR"] = address

    def test_a_prompt_shows_no_error(self):
        for env in ({"ACCEL_COORDINATOR": "127.0.0.1:1"}, {"ACCEL_COORDINATOR": "nonsense"}):
            self.assertEqual(self.complete("accel logs ", **env), [], env)
        self.assertEqual(self.complete("accel bogus --x"), [])
        self.assertEqual(self.complete("accel launch --bogus=x"), [])

    def test_a_silent_coordinator_delays_the_prompt_for_a_second_at_most(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = f"127.0.0.1:{silent.getsockname()[1]}"
            begin = time.monotonic()
            self.assertEqual(self.complete("accel logs ", ACCEL_COORDINATOR=address), [])
            self.assertLess(time.monotonic() - begin, 20)  # Other commands wait for 30 s.

    def press_tab(self, shell, *flags, load):
        """Types the beginning of a command and Tab into an interactive shell, and runs what comes of it."""
        path = shutil.which(shell, path="/usr/bin:/bin")
        if path is None:
            self.skipTest(f"{shell} is not installed")
        self.env["TERM"] = "dumb" if shell == "fish" else "vt100"
        terminal = Terminal(self, path, *flags)
        terminal.type(load.encode() + b"; echo rea''dy\n")
        terminal.expect(b"ready\r\n")
        terminal.type(b"accel --vers\t\n")
        terminal.expect(b"accel 0.")
        terminal.type(b"exit\n")
        terminal.read(None)
        os.waitpid(terminal.pid, 0)

    def test_bash_on_a_terminal(self):
        self.press_tab("bash", "--norc", "--noprofile", "-i", load="source <(accel completion bash)")

    def test_zsh_on_a_terminal(self):
        self.press_tab("zsh", "-f", "-i",
                       load="autoload -U compinit; compinit -u -d ./zcompdump; source <(accel completion zsh)")

    def test_fish_on_a_terminal(self):
        fish = shutil.which("fish", path="/usr/bin:/bin")
        if fish is None:
            self.skipTest("fish is not installed")
        # fish can be asked for the candidates without a terminal.
        script = 'accel completion fish | source; complete -C "accel logs --stream "; complete -C "accel drain "'

        def candidates():
            result = self.run_command(fish, "--no-config", "-c", script)
            return [line.split("\t")[0] for line in result.out.split("\n") if line]

        cluster.wait_until(lambda: candidates() == ["stderr", "stdout", "n1"], 60, "fish completes a stream and a node")


if __name__ == "__main__":
    cluster.main()
