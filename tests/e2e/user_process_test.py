"""What a process of a job has if its agent is root and its user is not: that user's identity, and nothing of root's."""

import ctypes
import os
import pathlib
import platform
import pwd
import shutil
import subprocess

from tests.e2e import cluster
from tests.e2e.users import ANN, UserTest

# The numbers of two system calls that Python does not have, where they are known.
ADD_KEY, KEYCTL = {"x86_64": (248, 250), "aarch64": (217, 219)}.get(platform.machine(), (None, None))
JOIN_SESSION_KEYRING, SESSION_KEYRING = 1, -3

# Limits of the agent that no system has by default.
LIMITS = ("choom", "-n", "100", "--", "prlimit", "--core=4096:8192", "--nofile=700:1500", "--nproc=5000:6000",
          "--memlock=65536:131072")


def fields_of(path):
    """Returns the fields of a file of lines `NAME: VALUE...`."""
    lines = pathlib.Path(path).read_text().splitlines()
    return {name: value.split() for name, _, value in (line.partition(":") for line in lines)}


class Process(UserTest):
    """An agent of root with limits and variables of its own."""

    def start_agent(self, name, env=None, flags=(), under=LIMITS):
        of_root = {"LANG": "C.UTF-8", "TZ": "Asia/Tokyo", "NCCL_IB_HCA": "mlx5", "SSH_AUTH_SOCK": "/root/agent",
                   "CREDENTIALS_DIRECTORY": "/run/credentials", **(env or {})}
        return super().start_agent(name, of_root, ("--pass_env", "NCCL_IB_HCA", *flags), under)

    def start_agent_in(self, *arguments, **options):
        return super().start_agent_in(*arguments, umask=0o077, **options)

    def test_has_the_users_ids_and_no_capability(self):
        ann = pwd.getpwnam(ANN)
        job, pid, shim = self.hold()
        for process in (pid, shim):
            status = fields_of(f"/proc/{process}/status")
            self.assertEqual(status["Uid"], [str(ann.pw_uid)] * 4)
            self.assertEqual(status["Gid"], [str(ann.pw_gid)] * 4)
            self.assertEqual(set(map(int, status["Groups"])), set(os.getgrouplist(ANN, ann.pw_gid)))
            for capabilities in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
                self.assertEqual(int(status[capabilities][0], 16), 0)
            self.assertEqual(status["NoNewPrivs"], ["1"])
        self.cancel(job)
        self.assertIn(f"runs as             {ANN}", self.accel("status", job).out)

    def test_has_three_descriptors_and_the_agents_limits(self):
        job, pid, _ = self.hold()
        process, agent = pathlib.Path(f"/proc/{pid}"), pathlib.Path(f"/proc/{self.agents[0].pid}")
        descriptors = {fd.name: os.readlink(fd).partition(":")[0] for fd in (process / "fd").iterdir()}
        self.assertEqual(descriptors, {"0": "/dev/null", "1": "pipe", "2": "pipe"})
        limits = (process / "limits").read_text()
        self.assertEqual(limits, (agent / "limits").read_text())
        self.assertRegex(limits, r"Max open files +700 +1500 ")
        self.assertEqual(fields_of(process / "status")["Umask"], ["0022"])
        self.assertEqual(os.readlink(process / "cwd"), "/")
        self.assertEqual((process / "oom_score_adj").read_text(), "0\n")
        if "v2 in /" in self.log("n1"):
            self.assertRegex((process / "cgroup").read_text(), rf"(?m)^0::/.*user-{job}-\w+/g1$")
        self.cancel(job)

    def test_has_the_environment_of_a_login_and_of_the_job(self):
        result = self.submit("--runs_as", ANN, "--workdir", "/", "--env", "OWN=1", "/usr/bin/env", "-0")
        self.assertEqual(result.code, 0, result)
        text = self.accel("logs", result.out.split()[0]).out
        env = dict(pair.partition("=")[::2] for pair in text.split("\0") if "=" in pair)
        ann = pwd.getpwnam(ANN)
        # docs/environment.md has the variables of accel, and a test of its own.
        login = {name: value for name, value in env.items()
                 if not name.startswith(("ACCEL", "TORCHELASTIC_", "CUDA_VISIBLE_DEVICES"))}
        self.assertEqual(login, {"HOME": ann.pw_dir, "USER": ANN, "LOGNAME": ANN, "SHELL": ann.pw_shell, "LANG": "C.UTF-8",
                                 "TZ": "Asia/Tokyo", "PATH": self.env["PATH"], "NCCL_IB_HCA": "mlx5", "OWN": "1"})
        self.assertFalse({"ACCEL_SHIM", "ACCEL_COORDINATOR", "ACCEL_TEST_TAG"} & set(env), env)

    def test_a_setuid_program_gains_nothing(self):
        copy = shutil.copy("/usr/bin/id", self.public)
        os.chmod(copy, 0o4755)
        outside = subprocess.run([copy, "-u"], user=ANN, capture_output=True, text=True)
        if outside.stdout != "0\n":
            self.skipTest(f"{self.public} is on a file system without setuid programs")
        self.assertEqual(self.shell(f"{copy} -u").text, f"{pwd.getpwnam(ANN).pw_uid}\n")


def plant_key():
    """Gives the calling process a session keyring with a key of root."""
    if KEYCTL is not None:
        libc = ctypes.CDLL(None)
        libc.syscall(KEYCTL, JOIN_SESSION_KEYRING, None)
        libc.syscall(ADD_KEY, b"user", b"key_of_root", b"secret", 6, SESSION_KEYRING)


class Session(UserTest):
    """An agent of root that was started in a session with a terminal and a key."""

    def setUp(self):
        main, self.terminal = os.openpty()
        self.addCleanup(os.close, main)
        self.addCleanup(os.close, self.terminal)
        super().setUp()

    def start_agent_in(self, state, name, env=None, flags=(), under=(), **options):
        # Standard input becomes the terminal of the agent's session.
        return super().start_agent_in(state, name, env, flags, ("setsid", "--ctty"), stdin=self.terminal,
                                      preexec_fn=plant_key, **options)

    def test_a_job_cannot_open_the_agents_terminal(self):
        """It could type into that terminal (TIOCSTI), and so give commands to a shell of root."""
        agent = self.agents[0].pid
        self.assertEqual(os.getsid(agent), agent)
        self.assertNotEqual(self.terminal_of(agent), 0)
        self.assertEqual(self.shell("(: < /dev/tty) && echo opened").text, "")
        job, pid, shim = self.hold()
        for process in (pid, shim):
            self.assertEqual(os.getsid(process), shim)
            self.assertEqual(self.terminal_of(process), 0)
        self.cancel(job)

    def test_a_job_sees_no_key_of_the_agents_session(self):
        look = ("grep", "-c", "key_of_root", "/proc/keys")
        inside = subprocess.run(["setpriv", f"--reuid={ANN}", "--clear-groups", *look], preexec_fn=plant_key,
                                capture_output=True, text=True)
        if inside.stdout != "1\n":
            self.skipTest("no session keyrings here")
        self.assertEqual(self.shell(" ".join(look)).text, "0\n")

    def terminal_of(self, pid):
        """Returns the number of the device that is the process's controlling terminal, or 0."""
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[4])


if __name__ == "__main__":
    cluster.main()
