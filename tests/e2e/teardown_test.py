"""Which processes end with which: nothing of a job survives it, however it ends (invariant 7)."""

import os
import pathlib
import signal

from tests.e2e import cluster

# A worker that leaves processes behind in every possible way: a new session, a double fork, a stopped one.
ESCAPES = """
setsid sleep 1000 &
( ( sleep 1001 & ) & )
( setsid setsid sleep 1002 & ) &
sleep 1003 & kill -STOP $!
"""


def shim_of(pid):
    """Returns the shim that is a worker's parent."""
    return cluster.parent_of(pid)


class Launch(cluster.Test):
    CGROUPS = {}
    BEFORE_KILL = 25  # Seconds. A launch that ends within them has not waited for the grace of 30 s.

    def launch_waiting(self, text, *flags, processes=2, stdin=None):
        """Starts a launch whose workers write their pids. Returns the launch and the pids."""
        script = self.script(f"{text}\necho $$ > pid.${{RANK:-0}}.new; mv pid.${{RANK:-0}}.new pid.${{RANK:-0}}\n"
                             "while :; do sleep 0.1; done")
        process = self.start(cluster.ACCEL, "launch", "--cpu", "--num_processes", processes, *flags, script,
                             env=self.CGROUPS)
        return process, [int(self.wait_for_file(f"pid.{rank}")) for rank in range(processes)]

    def test_control_groups_are_as_the_class_says(self):
        """Otherwise the two classes of this file would test the same setting."""
        mine = pathlib.Path("/proc/self/cgroup").read_text()
        workers = self.launch("cat", "/proc/self/cgroup", env=self.CGROUPS).out
        if not self.CGROUPS and workers == mine:
            self.skipTest("this machine gives no control groups")
        self.assertEqual(workers == mine, bool(self.CGROUPS), workers)

    def test_escapes_die_with_a_job_that_ends_well(self):
        result = self.launch("--num_processes", 2, self.script(ESCAPES + "exit 0"), env=self.CGROUPS)
        self.assertEqual(result.code, 0, result)
        self.assertEqual(self.leftovers(seconds=0), [])

    def test_escapes_die_with_a_job_that_fails(self):
        result = self.launch("--num_processes", 2, self.script(ESCAPES + "[ $RANK = 1 ] && exit 5; exec sleep 1004"),
                             env=self.CGROUPS)
        self.assertEqual(result.code, 5, result)
        self.assertEqual(self.leftovers(seconds=0), [])

    def test_ctrl_c_is_term_then_the_end(self):
        process, _ = self.launch_waiting("trap 'touch got_term.$RANK; exit 0' TERM" + ESCAPES)
        process.send_signal(signal.SIGINT)
        result = self.finish(process, self.BEFORE_KILL)
        self.assertEqual(result.code, 130, result)
        self.assertTrue(self.path("got_term.0").exists() and self.path("got_term.1").exists())
        self.assertEqual(self.leftovers(seconds=0), [])

    def test_sigterm_is_143(self):
        process, _ = self.launch_waiting("")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process, self.BEFORE_KILL).code, 143)

    def test_a_second_ctrl_c_kills_at_once(self):
        process, _ = self.launch_waiting("trap 'touch term' TERM")
        process.send_signal(signal.SIGINT)
        cluster.wait_until(lambda: self.path("term").exists(), 60, "SIGTERM reaches a worker")
        process.send_signal(signal.SIGINT)
        result = self.finish(process, self.BEFORE_KILL)
        self.assertEqual(result.code, 130, result)

    def test_a_shim_that_stands_still_does_not_hold_the_launch(self):
        process, pids = self.launch_waiting("")
        cluster.stop(shim_of(pids[0]))
        process.send_signal(signal.SIGINT)
        self.assertIn(b"a second signal kills them", process.stderr.readline())
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process).code, 130)
        self.assertEqual(self.leftovers(seconds=0), [])

    def test_a_worker_that_ignores_term_is_killed_after_the_grace(self):
        # Another rank has failed, so the grace period is 5 s.
        script = self.script("if [ $RANK = 0 ]; then while [ ! -e stubborn ]; do sleep 0.02; done; exit 6; fi\n"
                             "trap '' TERM; touch stubborn; while :; do sleep 0.1; done")
        result = self.launch("--num_processes", 2, script, env=self.CGROUPS)
        self.assertEqual(result.code, 6, result)
        self.assertGreater(result.seconds, 5)
        self.assertLess(result.seconds, self.BEFORE_KILL)

    def test_sighup_ends_the_job(self):
        process, _ = self.launch_waiting("")
        process.send_signal(signal.SIGHUP)
        self.assertEqual(self.finish(process, self.BEFORE_KILL).code, 129)

    def test_nohup_keeps_it(self):
        script = self.script("echo $$ > pid; while [ ! -e go ]; do sleep 0.05; done")
        process = self.start("/usr/bin/nohup", cluster.ACCEL, "launch", "--cpu", script)
        worker = int(self.wait_for_file("pid"))
        process.send_signal(signal.SIGHUP)
        os.kill(worker, signal.SIGHUP)
        self.path("go").touch()
        self.assertEqual(self.finish(process).code, 0)

    def test_kill_9_of_launch_leaves_nothing(self):
        process, pids = self.launch_waiting(ESCAPES)
        process.kill()
        process.wait()
        self.assertEqual(self.leftovers(), [])
        self.assertFalse(any(cluster.is_alive(pid) for pid in pids))

    def test_the_next_launch_ends_what_a_launch_and_its_shim_left(self):
        for flags in ((), ("--log_dir", self.path("logs"))):
            process, pids = self.launch_waiting("setsid sleep 1000 &", *flags)
            shim = shim_of(pids[0])
            # Both are stopped first, so that neither sees the other die.
            for end in (cluster.stop, lambda pid: os.kill(pid, signal.SIGKILL)):
                for pid in (shim, process.pid):
                    end(pid)
            process.wait()
            self.assertTrue(all(cluster.is_alive(pid) for pid in pids))
            self.assertEqual(len(list(self.path(".").glob("accel-launch-*"))), 1)
            # A launch that is alive keeps what it has.
            script = self.script("touch up; while [ ! -e go ]; do sleep 0.02; done", name="living.sh")
            living = self.start(cluster.ACCEL, "launch", "--cpu", script, env=self.CGROUPS)
            cluster.wait_until(lambda: self.path("up").exists(), 60, "it runs")
            result = self.launch("true", env=self.CGROUPS)
            self.assertEqual(result.code, 0, result)
            self.path("go").touch()
            said = self.finish(living)
            self.assertEqual(said.code, 0, said)
            self.assertIn("an earlier launch was killed", said.err + result.err)
            cluster.wait_until(lambda: not any(cluster.is_alive(pid) for pid in pids), 60, "the workers are ended")
            self.assertEqual(self.leftovers(), [])
            self.assertEqual(list(self.path(".").glob("accel-launch-*")), [])
            for name in ("up", "go", "pid.0", "pid.1"):
                self.path(name).unlink()

    def test_kill_9_of_the_shim_leaves_nothing_and_is_reported(self):
        process, pids = self.launch_waiting(ESCAPES)
        os.kill(shim_of(pids[0]), signal.SIGKILL)
        result = self.finish(process)
        self.assertNotEqual(result.code, 0)
        self.assertIn("shim", result.err)
        self.assertEqual(self.leftovers(seconds=0), [])

    def test_kill_9_of_the_shim_can_be_survived(self):
        process, pids = self.launch_waiting("[ $TORCHELASTIC_RESTART_COUNT = 1 ] && exit 0", "--max_restarts", 1)
        os.kill(shim_of(pids[0]), signal.SIGKILL)
        self.assertEqual(self.finish(process).code, 0)


class LaunchWithoutCgroups(Launch):
    """The same without control groups."""

    CGROUPS = {"ACCEL_CGROUP": "none"}


class TwoJobs(cluster.Test):
    def test_two_jobs_do_not_affect_each_other(self):
        script = self.script('echo "$MASTER_PORT" > port.$1.$RANK; touch here.$1.$RANK\n'
                             'while [ $(ls here.* | wc -l) -lt 4 ]; do sleep 0.02; done; exit $1')
        first = self.start(cluster.ACCEL, "launch", "--cpu", "--num_processes", 2, script, 0)
        second = self.start(cluster.ACCEL, "launch", "--cpu", "--num_processes", 2, script, 4)
        self.assertEqual(self.finish(first).code, 0)
        self.assertEqual(self.finish(second).code, 4)
        self.assertNotEqual(self.path("port.0.0").read_text(), self.path("port.4.0").read_text())


if __name__ == "__main__":
    cluster.main()
