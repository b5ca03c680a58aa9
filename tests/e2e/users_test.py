"""What jobs of other users than their agent have, and what they cannot reach."""

import os
import pathlib
import pwd
import shutil
import signal
import tempfile
import unittest

from tests.e2e import cluster
from tests.e2e.users import ANN, BOB, UserTest


class Users(UserTest):
    def test_root_and_the_system_are_refused_by_the_agent(self):
        for account, why in (("bin", "runs no job as bin (uid 2)"), ("no_such_user", "has no account no_such_user")):
            result = self.shell("true", user=account)
            self.assertEqual(result.code, 126, result)
            self.assertIn(f"node n1 {why}", result.err)

    def test_a_shim_that_the_user_may_not_execute_is_named(self):
        closed = self.public / "closed"
        closed.mkdir(mode=0o700)
        agent = self.start_agent("n2", {"ACCEL_SHIM": shutil.copy(cluster.SHIM, closed)})
        self.wait_for_nodes(2)
        self.assertEqual(self.accel("drain", "n1").code, 0)
        result = self.shell("true")
        self.assertEqual(result.code, 126, result)
        self.assertIn(f"{closed}/accel-shim: user {ANN} may not execute it; install accel in a folder", result.err)
        agent.terminate()
        agent.wait(timeout=60)

    def test_what_root_submits_to_root_runs_as_root(self):
        result = self.submit("--workdir", "/", "id", "-u")
        self.assertEqual(result.code, 0, result)
        self.assertEqual(self.accel("logs", result.out.split()[0]).out, "0\n")

    def test_files_belong_to_the_user_and_no_other_may_read_them(self):
        result = self.shell("echo secret; umask 0; touch in_public", "--env", "x=y", "--workdir", self.public)
        self.assertEqual(result.code, 0, result)
        self.assertEqual(result.text, "secret\n")
        uid = pwd.getpwnam(ANN).pw_uid
        folder = self.state / "jobs" / result.job
        self.assertEqual(folder.stat().st_mode & 0o777, 0o700)
        for path in (folder, *folder.rglob("*"), self.public / "in_public"):
            self.assertEqual(path.lstat().st_uid, uid, path)
        other = self.shell(f"cat {folder}/gen_1/rank_0/stdout*; ls {self.state}; ls {self.state}/jobs; "
                           f"cat {self.state}/node_id; ls {self.state}/shims", user=BOB)
        self.assertEqual(other.code, 2, other)
        self.assertNotIn("secret", other.text)

    def test_an_upload_belongs_to_its_user(self):
        project = self.path("project")
        project.mkdir()
        (project / "run.sh").write_text("#!/bin/sh\nid -un; pwd; touch written && echo secret > notes; exec sleep $1\n")
        (project / "run.sh").chmod(0o755)
        submit = ("submit", "--cpu", "--runs_as", ANN, "--upload", project)
        result = self.accel(*submit, "--wait", "run.sh", "0")
        self.assertEqual(result.code, 0, result)
        job = result.out.strip()
        code = self.state / "jobs" / job / "code"
        self.assertEqual(self.accel("logs", job).out, f"{ANN}\n{code}\n")
        uid = pwd.getpwnam(ANN).pw_uid
        self.assertEqual({path.name for path in code.iterdir()}, {"run.sh", "written", "notes"})
        for path in (code, *code.iterdir()):
            self.assertEqual(path.lstat().st_uid, uid, path)
        other = self.shell(f"cat {code}/run.sh {code}/notes; ls {self.state}/uploads; ls {self.dir}/coordinator/blobs", user=BOB)
        self.assertNotEqual(other.code, 0, other)
        self.assertNotIn("secret", other.text)
        self.assertNotIn("id -un", other.text)

    def test_a_link_in_place_of_the_output_shows_nothing(self):
        """A worker replaces its output by links, a FIFO and a hard link. Root reads none, and removes nothing else."""
        victim = self.path("victim")
        victim.write_text("root's secret")
        os.chmod(victim, 0o600)
        rank = "$(dirname $TORCHELASTIC_ERROR_FILE)"
        attacks = {
            "link": f"cd {rank} && rm -f stdout.0* && ln -s /etc/shadow stdout.00000000000000000000",
            "folder": f"cd / && d={rank} && mv $d $d.old && ln -s {self.dir} $d",
            "fifo": f"cd {rank} && rm -f stdout.* && mkfifo stdout.00000000000000000000 stdout.times",
            "generation": f"d=$(dirname {rank}) && mv $d $d.old && ln -s /etc $d",
        }
        for name, attack in attacks.items():
            with self.subTest(name):
                result = self.submit("--runs_as", ANN, "--workdir", "/", "--", "/bin/sh", "-c", f"echo x; {attack}")
                job = result.out.split()[0]
                logs = self.accel("logs", job, "--since", "1h")
                self.assertNotIn("root:", logs.out)
                self.assertNotIn("secret", logs.out)
        self.assertEqual(victim.read_text(), "root's secret")
        self.assertEqual(self.submit("true").code, 0, "the agent lives")

    def test_a_worker_cannot_become_its_shim_nor_reach_anothers(self):
        job, _, shim = self.hold()
        probes = [f"cat /proc/{shim}/environ", f"cat /proc/{shim}/mem", f"ls /proc/{shim}/fd", f"kill -0 {shim}"]
        for user in (ANN, BOB):
            for probe in probes:
                allowed = user == ANN and probe.startswith("kill")
                result = self.shell(probe, user=user)
                self.assertEqual(result.code == 0, allowed, (user, probe, result))
        self.cancel(job)

    def test_shims_of_users_survive_their_agent(self):
        job, pid, shim = self.hold()
        ends_with_agent, other_pid, _ = self.hold("", ANN, "--on_agent_loss", "end")
        self.agents[0].send_signal(signal.SIGKILL)
        self.agents[0].wait()
        cluster.wait_until(lambda: not cluster.is_alive(other_pid), 60, "the job that ends with its agent has ended")
        self.assertTrue(cluster.is_alive(pid))
        self.agents = [self.start_agent_in(self.state, "n1")]
        cluster.wait_until(lambda: "adopted a shim" in self.log("n1"), 60, "the shim is adopted")
        self.assertTrue(cluster.is_alive(pid))
        self.cancel(job)
        cluster.wait_until(lambda: not cluster.is_alive(pid) and not cluster.is_alive(shim), 60, "nothing is left")
        cluster.wait_until(lambda: not list((self.state / "shims").iterdir()), 60, "no record is left")

    def test_the_result_of_a_job_that_ended_alone_is_read(self):
        go = self.public / "go"
        job, _, shim = self.hold(f"(until [ -e {go} ]; do sleep 0.05; done; kill $$) & ")
        self.agents[0].send_signal(signal.SIGKILL)
        self.agents[0].wait()
        go.touch()
        cluster.wait_until(lambda: not cluster.is_alive(shim), 60, "the shim has left its result")
        self.agents = [self.start_agent_in(self.state, "n1")]
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "FAILED", 60, "the result is known")
        self.assertEqual(self.jobs(job)[0]["exit_code"], 143)

    def test_nothing_of_a_job_is_left(self):
        job, pid, shim = self.hold("(setsid sleep 1000 &) ; touch /dev/shm/of_the_job; ")
        self.assertFalse(os.path.exists("/dev/shm/of_the_job"), "the job has its own /dev/shm")
        if "v2 in /" in self.log("n1"):
            groups = [line.rpartition(":")[2] for line in
                      pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines() if line.startswith("0::")]
            self.assertRegex(groups[0], rf"user-{job}-.*/g1$")
        sleeping = cluster.wait_until(lambda: len(found := self.sleeping(job)) >= 2 and found, 60, "both have executed sleep")
        self.assertEqual(len(sleeping), 2)
        self.assertIn(pid, sleeping)
        os.kill(shim, signal.SIGKILL)  # As a user may do, so that nobody sweeps.
        cluster.wait_until(lambda: not any(map(cluster.is_alive, sleeping)), 60, "the agent has ended the rest")

    def test_a_shim_that_its_user_kills_after_the_end_leaves_nothing(self):
        job, pid, shim = self.hold()
        self.cancel(job)
        cluster.wait_until(lambda: not cluster.is_alive(shim), 60, "the shim is gone")
        for base in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/memory"):
            cluster.wait_until(lambda: not list(pathlib.Path(base).glob(f"accel/user-{job}*")), 60, f"no group is left in {base}")

    def sleeping(self, job):
        """Returns the pids of the job's processes that execute sleep."""
        return [pid for pid in self.leftovers(0, f"ACCEL_JOB_ID={job}") if cluster.is_sleeping(pid)]


@unittest.skipUnless(os.geteuid() == 0, "only root can start an agent as another user")
class NotRoot(cluster.Test):
    def test_accounts_count_only_for_agents_that_are_root(self):
        """A coordinator and an agent of an ordinary user on one machine."""
        with tempfile.TemporaryDirectory(prefix="accel.", dir="/tmp") as folder:
            uid = pwd.getpwnam(ANN).pw_uid
            os.chown(folder, uid, uid)
            # The build's programs may be below root's home, which is closed to others.
            accel, coordinator, agent, shim = (
                shutil.copy(program, folder) for program in (cluster.ACCEL, cluster.COORDINATOR, cluster.AGENT, cluster.SHIM))
            socket = f"{folder}/coordinator.socket"
            env = {"HOME": folder, "ACCEL_COORDINATOR": f"unix:{socket}", "ACCEL_SHIM": shim}
            as_user = {"env": env, "cwd": folder, "user": uid, "group": pwd.getpwnam(ANN).pw_gid, "extra_groups": []}
            with open(self.path("log"), "ab") as log:
                coordinator = self.start(coordinator, "--socket", socket, "--state_dir", f"{folder}/c", stderr=log, **as_user)
                self.assertTrue(coordinator.stdout.readline().startswith(b"listening on"))
                agent = self.start(agent, "--state_dir", f"{folder}/a", "--name", "n1", stderr=log, **as_user)
            cluster.wait_until(lambda: f"run as {ANN} on n1" in self.run_command(accel, "nodes", **as_user).out, 60,
                               "the node says so")
            result = self.run_command(accel, "submit", "--cpu", "--wait", "--runs_as", "bin", "id", "-un", **as_user)
            self.assertEqual(result.code, 0, result)
            self.assertEqual(self.run_command(accel, "logs", result.out.split()[0], **as_user).out, f"{ANN}\n")
            cluster.wait_until(lambda: not list(pathlib.Path(folder).glob("a/shims/*")), 60, "the shim has ended")
            for process in (agent, coordinator):
                process.terminate()
                process.wait(timeout=60)
        self.assertEqual(self.path("log").read_text().count("runs all jobs as its own user"), 1)


if __name__ == "__main__":
    cluster.main()
