"""`accel submit` through a real coordinator and real agents."""

import contextlib
import json
import os
import signal
import socket
import unittest

from tests.e2e import cluster


# 127.0.0.1, ::ffff:127.0.0.1 and ::1 in the notation of /proc/net/tcp*.
LOOPBACK = ("0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000")


class Commands(cluster.Test):
    def test_a_line_that_was_read_does_not_take_the_next_one_with_it(self):
        process = self.start("printf", "first\nsecond\n")
        process.wait(cluster.SECONDS)  # Both lines are in the pipe now.
        self.assertEqual(process.stdout.readline(), b"first\n")
        self.assertEqual(self.finish(process).out, "second\n")


class OneAgent(cluster.ClusterTest):
    def test_submit_and_wait(self):
        result = self.submit("--processes_per_node", 2, self.script("exit 0"))
        self.assertEqual(result.code, 0, result)
        job = result.out.split()[0]
        status = json.loads(self.accel("status", job, "--json").out)
        jobs = status["jobs"] if "jobs" in status else [status]
        self.assertEqual(jobs[0]["phase"], "SUCCEEDED")

    def test_exit_codes_and_last_lines(self):
        result = self.submit("--processes_per_node", 2, self.script("[ $RANK = 1 ] && { echo why not; exit 17; }; exec sleep 600"))
        self.assertEqual(result.code, 17, result)
        for said in ("rank 1", "n1", "code 17", "why not"):
            self.assertIn(said, result.err)
        result = self.submit(self.script("kill -SEGV $$"))
        self.assertEqual(result.code, 139, result)
        self.assertIn("SIGSEGV", result.err)

    def test_missing_paths_name_the_node(self):
        result = self.submit("/no/such/program")
        self.assertEqual(result.code, 127, result)
        self.assertIn("/no/such/program", result.err)
        self.assertIn("n1", result.err)
        result = self.submit("--workdir", "/no/such/dir", "true")
        self.assertEqual(result.code, 127, result)
        self.assertIn("/no/such/dir", result.err)

    def test_logs_status_and_nodes(self):
        job = self.submit("--processes_per_node", 2, self.script("echo hello from $RANK; echo bad >&2")).out.split()[0]
        logs = self.accel("logs", job)
        self.assertEqual(logs.code, 0, logs)
        for rank in range(2):
            self.assertIn(f"hello from {rank}", logs.out)
        one = self.accel("logs", job, "--rank", 1)
        self.assertIn("hello from 1", one.out)
        self.assertNotIn("hello from 0", one.out)
        self.assertIn(job, self.accel("status").out)
        self.assertIn("n1", self.accel("nodes").out)
        self.assertNotEqual(self.accel("status", "no-such-job").code, 0)

    def test_logs_of_more_ranks_than_an_agent_relays_at_once(self):
        job = self.submit("--processes_per_node", 140, self.script("echo rank $RANK is here")).out.split()[0]
        self.assertEqual(self.accel("logs", job).out.count("is here"), 140)

    def test_cancel(self):
        job = self.accel("submit", "--cpu", self.script("echo $$ > pid; exec sleep 600")).out.split()[0]
        worker = int(self.wait_for_file("pid"))
        self.assertEqual(self.accel("cancel", job).code, 0)
        cluster.wait_until(lambda: "CANCELLED" in self.accel("status", job, "--json").out, 25, "it ends before the grace of 30 s")
        self.assertFalse(cluster.is_alive(worker))
        self.assertEqual(self.leftovers(0, f"ACCEL_JOB_ID={job}"), [])

    def test_agent_and_shim_killed_together(self):
        self.accel("submit", "--cpu", "--processes_per_node", 2,
                   self.script("echo $$ > pid.$RANK; exec sleep 600")).out.split()
        pids = [int(self.wait_for_file(f"pid.{rank}")) for rank in range(2)]
        shim = cluster.parent_of(pids[0])
        # Both are stopped first, so that neither sees the other die.
        for pid in (shim, self.agents[0].pid):
            cluster.stop(pid)
        for pid in (shim, self.agents[0].pid):
            os.kill(pid, signal.SIGKILL)
        self.agents[0] = self.start_agent("n1")
        cluster.wait_until(lambda: not any(cluster.is_alive(pid) for pid in pids), 60, "the next agent ends the workers")


class OverTcp(cluster.ClusterTest):
    LISTEN = "127.0.0.1:0"

    def test_nobody_enters_without_a_certificate_on_loopback_either(self):
        self.path("stranger").mkdir()
        result = self.accel("status", env={"HOME": str(self.path("stranger"))})
        self.assertEqual(result.code, 1, result)
        self.assertIn("run: accel login", result.err)
        agent = self.run_command(cluster.AGENT, "--state_dir", self.path("intruder"))
        self.assertEqual(agent.code, 1, agent)
        self.assertIn("accel-agent join", agent.err)
        host, _, port = self.env["ACCEL_COORDINATOR"].rpartition(":")
        with socket.create_connection((host, int(port)), timeout=20) as clear:
            clear.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            with contextlib.suppress(ConnectionResetError):
                self.assertEqual(clear.recv(1), b"", "clear text is closed")

    def test_no_secret_is_shared(self):
        self.assertFalse(self.path(".config/accel/token").exists())

    def test_the_unix_socket_serves_too(self):
        result = self.accel("nodes", "--coordinator", f"unix:{self.socket}")
        self.assertEqual(result.code, 0, result)
        self.assertIn("n1", result.out)


class TwoAgents(cluster.ClusterTest):
    AGENTS = 2

    def test_unequal_parts_have_dense_ranks(self):
        script = self.script('echo "$RANK $LOCAL_RANK $WORLD_SIZE $GROUP_RANK $LOCAL_WORLD_SIZE $MASTER_ADDR:$MASTER_PORT $GLOO_SOCKET_IFNAME" > rank.$RANK')
        result = self.submit("--nodes", 2, "--processes_per_node", "3,4", script)
        self.assertEqual(result.code, 0, result)
        rows = [self.path(f"rank.{rank}").read_text().split() for rank in range(7)]
        self.assertEqual([row[1] for row in rows], ["0", "1", "2", "0", "1", "2", "3"])
        self.assertEqual({row[2] for row in rows}, {"7"})
        self.assertEqual([row[3] for row in rows], ["0"] * 3 + ["1"] * 4)
        self.assertEqual([row[4] for row in rows], ["3"] * 3 + ["4"] * 4)
        self.assertEqual(len({row[5] for row in rows}), 1)
        self.assertEqual({row[6] for row in rows}, {"lo"})

    def test_a_failure_on_one_node_restarts_both(self):
        script = self.script('echo "$RANK $TORCHELASTIC_RESTART_COUNT" >> tries\n'
                             '[ $TORCHELASTIC_RESTART_COUNT = 1 ] && exit 0\n'
                             '[ $RANK = 1 ] && { until grep -q "0 0" tries; do sleep 0.02; done; exit 3; }\n'
                             'exec sleep 600')
        result = self.submit("--nodes", 2, "--max_restarts", 1, script)
        self.assertEqual(result.code, 0, result)
        self.assertEqual(sorted(self.path("tries").read_text().split("\n"))[1:], ["0 0", "0 1", "1 0", "1 1"])

    def test_a_job_that_does_not_fit_waits_and_says_why(self):
        job = self.accel("submit", "--cpu", "--nodes", 3, self.script("exit 0")).out.split()[0]
        status = cluster.wait_until(lambda: (s := self.accel("status", job).out) and "PENDING" in s and s, 60, "PENDING")
        self.assertIn("3", status)
        self.agents.append(self.start_agent("n3"))
        cluster.wait_until(lambda: "SUCCEEDED" in self.accel("status", job, "--json").out, 60, "it runs when it fits")

    def test_two_jobs_at_once(self):
        script = self.script("touch here.$ACCEL_JOB_ID.$RANK; while [ $(ls here.* | wc -l) -lt 4 ]; do sleep 0.02; done")
        jobs = [self.start(cluster.ACCEL, "submit", "--wait", "--cpu", "--nodes", 2, script) for _ in range(2)]
        for job in jobs:
            self.assertEqual(self.finish(job).code, 0)

    def test_squatters_on_torchs_ports_do_not_matter(self):
        for port in (29500, 29400):
            squatter = socket.socket()
            self.addCleanup(squatter.close)
            try:
                squatter.bind(("127.0.0.1", port))
                squatter.listen()
            except OSError:
                pass  # Another process holds the port already, which serves as well.
        self.assertEqual(self.submit("--nodes", 2, self.script("exit 0")).code, 0)
        self.assertEqual(self.launch("--num_processes", 2, self.script("exit 0")).code, 0)

    def test_a_client_that_is_killed_leaves_the_job(self):
        waiting = self.start(cluster.ACCEL, "submit", "--wait", "--cpu", self.script("touch up; while [ ! -e go ]; do sleep 0.05; done"))
        cluster.wait_until(lambda: self.path("up").exists(), 60, "the job runs")
        waiting.kill()
        waiting.wait()
        self.path("go").touch()
        cluster.wait_until(lambda: "SUCCEEDED" in self.accel("status", "--json").out, 60, "the job ends well by itself")


class Shutdown(cluster.ClusterTest):
    LISTEN = "127.0.0.1:0"

    def test_sigterm_stops_daemons_cleanly(self):
        self.agents[0].send_signal(signal.SIGTERM)
        self.assertEqual(self.agents[0].wait(timeout=60), 0)
        self.coordinator.send_signal(signal.SIGTERM)
        self.assertEqual(self.coordinator.wait(timeout=60), 0)

    @unittest.skipIf(os.geteuid() != 0, "only root sees what a daemon has open")
    def test_no_process_listens_beyond_loopback(self):
        # The store of a job of several processes is open while the job runs, so its port is among those
        # that are checked.
        self.accel("submit", "--cpu", "--processes_per_node", 2,
                   self.script("echo $$ $MASTER_PORT > job.$RANK; while :; do sleep 0.1; done"))
        worker, store = map(int, self.wait_for_file("job.0").split())
        seen = {}
        # A shim does not inherit the environment, so it has no tag in it.
        for pid in [*self.leftovers(seconds=0), cluster.parent_of(worker)]:
            for address, port in cluster.listening_sockets(pid):
                seen[port] = address
        ports = {int(self.env["ACCEL_COORDINATOR"].rpartition(":")[2]), store}
        self.assertLessEqual(ports, set(seen))
        self.assertEqual({port: address for port, address in seen.items() if address not in LOOPBACK}, {})


if __name__ == "__main__":
    cluster.main()
