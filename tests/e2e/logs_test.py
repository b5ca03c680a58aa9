"""Workers' output reaches its readers once and whole, whatever breaks on the way. Workers number their lines."""

import io
import os
import re
import threading
import time

from tests.e2e import cluster, tcp_relay

# Prints numbered lines until the file `stop` exists.
_NUMBERS = """
i=0
while [ ! -e stop ]; do i=$((i+1)); echo $i; [ $((i % 20)) = 0 ] && sleep 0.02; done
echo last is $i
"""
_BACK = "accel: the coordinator is back"


class Follower:
    """`accel logs`, whose output is read by a thread, line by line."""

    def __init__(self, process):
        self.process = process
        self.lines, self.errors = [], []
        self._threads = [threading.Thread(target=self._read, args=pair, daemon=True)
                         for pair in ((process.stdout, self.lines), (process.stderr, self.errors))]
        for thread in self._threads:
            thread.start()

    @staticmethod
    def _read(stream, lines):
        for line in io.BufferedReader(stream):
            lines.append(line.decode().rstrip("\n"))

    def wait(self, seconds=cluster.SECONDS):
        for thread in self._threads:
            thread.join(timeout=seconds)
        return self.process.wait(timeout=seconds)


class Logs(cluster.ClusterTest):
    """The agent and the reader reach the coordinator through relays of their own."""

    LISTEN = "127.0.0.1:0"

    def setUp(self):
        self.agents_link = self.readers_link = None
        super().setUp()

    def start_coordinator(self, **options):
        super().start_coordinator(**options)
        self.coordinator_address = self.env["ACCEL_COORDINATOR"]
        if self.agents_link is None:
            self.agents_link = tcp_relay.TcpRelay(self.coordinator_address)
            self.readers_link = tcp_relay.TcpRelay(self.coordinator_address)

    def start_agent(self, name):
        return super().start_agent(name, env={"ACCEL_COORDINATOR": self.agents_link.address})

    def tearDown(self):
        super().tearDown()
        self.agents_link.close()
        self.readers_link.close()

    def run_job(self, script, *flags):
        job = self.accel("submit", "--cpu", *flags, script).out.split()[0]
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "RUNNING", 60, "the job runs")
        return job

    def follow(self, *arguments):
        env = {"ACCEL_COORDINATOR": self.readers_link.address}
        return Follower(self.start(cluster.ACCEL, "logs", "--follow", *arguments, env=env))

    def wait_for_more(self, follower, count=100):
        target = len(follower.lines) + count
        cluster.wait_until(lambda: len(follower.lines) >= target, 60, f"{target} lines; {follower.errors}")

    def check_numbers(self, lines):
        last = int(re.fullmatch(r"last is (\d+)", lines[-1]).group(1))
        self.assertEqual(lines[:-1], [str(i + 1) for i in range(last)])

    def test_the_connection_of_an_agent_breaks(self):
        job = self.run_job(self.script(_NUMBERS))
        follower = self.follow(job)
        for _ in range(4):
            self.wait_for_more(follower)
            self.agents_link.cut()
            self.agents_link.up()
        self.wait_for_more(follower)
        self.path("stop").touch()
        self.assertEqual(follower.wait(), 0, follower.errors)
        self.check_numbers(follower.lines)
        self.assertEqual(self.jobs(job)[0]["phase"], "SUCCEEDED")

    def test_the_connection_of_the_reader_breaks(self):
        job = self.run_job(self.script(_NUMBERS))
        follower = self.follow(job)
        for number in range(4):
            self.wait_for_more(follower)
            # Otherwise the last error may be of the cut before.
            cluster.wait_until(lambda: follower.errors.count(_BACK) == number, 60, f"it is back for the {number}th time")
            self.readers_link.cut()
            cluster.wait_until(lambda: "trying again" in (follower.errors or [""])[-1], 60, "it notices")
            self.readers_link.up()
        self.wait_for_more(follower)
        self.path("stop").touch()
        self.assertEqual(follower.wait(), 0, follower.errors)
        self.check_numbers(follower.lines)
        self.assertEqual(follower.errors.count(_BACK), 4)

    def test_the_agent_is_killed(self):
        job = self.run_job(self.script(_NUMBERS))
        follower = self.follow(job)
        for _ in range(3):
            self.wait_for_more(follower)
            self.agents[0].kill()
            self.agents[0].wait()
            self.agents[0] = self.start_agent("n1")
        self.wait_for_more(follower)
        self.path("stop").touch()
        self.assertEqual(follower.wait(), 0, follower.errors)
        self.check_numbers(follower.lines)
        self.assertEqual(follower.errors, [])

    def test_the_connection_breaks_while_the_job_restarts(self):
        script = self.script("echo begin $ACCEL_GENERATION; while [ ! -e go.$ACCEL_GENERATION ]; do sleep 0.02; done; "
                             "echo end $ACCEL_GENERATION; exit $((ACCEL_GENERATION < 3))")
        job = self.run_job(script, "--max_restarts", 2)
        follower = self.follow(job)
        self.wait_for_more(follower, 1)
        self.readers_link.cut()
        self.path("go.1").touch()
        self.path("go.2").touch()
        cluster.wait_until(lambda: len(self.jobs(job)[0]["generations"]) == 3, 60, "generation 3")
        self.readers_link.up()
        self.wait_for_more(follower, 4)
        self.path("go.3").touch()
        self.assertEqual(follower.wait(), 0, follower.errors)
        self.assertEqual(follower.lines, [f"{what} {i}" for i in (1, 2, 3) for what in ("begin", "end")])
        self.assertIn(f"accel: job {job} has started again: generation 2", follower.errors)

    def test_the_coordinator_is_killed(self):
        job = self.run_job(self.script(_NUMBERS))
        follower = self.follow(job)
        for _ in range(3):
            self.wait_for_more(follower)
            self.coordinator.kill()
            self.coordinator.wait()
            self.start_coordinator(listen=self.coordinator_address)
            self.wait_for_nodes(1)
        self.wait_for_more(follower)
        self.path("stop").touch()
        self.assertEqual(follower.wait(), 0, follower.errors)
        self.check_numbers(follower.lines)
        self.assertIn(_BACK, follower.errors)


class Selections(cluster.ClusterTest):
    def test_ranks_streams_lines_and_expressions(self):
        job = self.submit("--processes_per_node", 4, self.script(
            "for i in 1 2 3; do echo loss $i of $RANK; echo noise; done; echo bad $RANK >&2")).out.split()[0]
        some = self.accel("logs", job, "--rank", "1,3", "--grep", "loss [23]", "--tail", 1)
        self.assertEqual(some.code, 0, some)
        self.assertEqual(sorted(some.out.splitlines()), ["[rank 1] loss 3 of 1", "[rank 3] loss 3 of 3"])
        errors = self.accel("logs", job, "--stream", "stderr", "--rank", "0-1")
        self.assertEqual((errors.out, sorted(errors.err.splitlines())), ("", ["[rank 0] bad 0", "[rank 1] bad 1"]))
        folded = self.accel("logs", job, "--fold", "--grep", "noise")
        self.assertEqual(folded.out, "[ranks 0-3, 12 times] noise\n")
        missing = self.accel("logs", job, "--rank", "2-4")
        self.assertEqual(missing.code, 1, missing)
        self.assertIn("no rank 4; it has 4", missing.err)

    def test_since(self):
        job = self.accel("submit", "--cpu", self.script(
            "echo early; while [ ! -e go ]; do sleep 0.02; done; echo late")).out.split()[0]
        cluster.wait_until(lambda: self.accel("logs", job).out == "early\n", 60, "the first line is kept")
        # Marks of the time are at least a second apart.
        began = time.time()
        cluster.wait_until(lambda: time.time() > began + 3, 60, "time has passed")
        self.path("go").touch()
        cluster.wait_until(lambda: self.jobs(job)[0]["phase"] == "SUCCEEDED", 60, "the job has ended")
        between = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began + 2))
        self.assertEqual(self.accel("logs", job, "--since", "1h").out, "early\nlate\n")
        self.assertEqual(self.accel("logs", job, "--since", between).out, "late\n")
        self.assertEqual(self.accel("logs", job, "--since", "2100-01-01").out, "")

    def test_a_thousand_ranks(self):
        job = self.submit("--processes_per_node", 1000, self.script("echo rank $RANK is here"), seconds=300).out.split()[0]
        logs = self.accel("logs", job)
        self.assertEqual(logs.code, 0, logs.err)
        self.assertEqual(sorted(logs.out.splitlines()), sorted(f"[rank {i}] rank {i} is here" for i in range(1000)))


class OnDisk(cluster.ClusterTest):
    def size_on_disk(self):
        size = 0
        for folder, _, files in os.walk(self.path("n1/jobs")):
            for file in files:
                try:
                    size += os.stat(os.path.join(folder, file)).st_size
                except FileNotFoundError:
                    pass  # The agent has just deleted it.
        return size


class Floods(OnDisk):
    def test_a_gigabyte_in_one_line(self):
        job = self.submit(self.script("head -c 1000000000 /dev/zero | tr '\\0' x; echo; echo end"), seconds=400)
        self.assertEqual(job.code, 0, job)
        self.assertLess(self.size_on_disk(), 66 << 20)
        logs = self.accel("logs", job.out.split()[0])
        self.assertEqual(logs.code, 0, logs.err)
        self.assertTrue(logs.out.endswith("xxx\nend\n"))
        dropped = int(re.search(r"\.\.\. (\d+) bytes of output were dropped \.\.\.", logs.out).group(1))
        self.assertEqual(dropped + logs.out.count("x"), 1_000_000_000)

    def test_binary_output_arrives_unchanged(self):
        job = self.submit(self.script(r"printf 'a\000b\377\033[31m\r\nc'")).out.split()[0]
        logs = self.start(cluster.ACCEL, "logs", job)
        self.assertEqual(logs.communicate(timeout=cluster.SECONDS)[0], b"a\0b\xff\x1b[31m\r\nc")

    def test_a_progress_bar_leaves_few_states(self):
        script = self.script(r"for i in $(seq 20000); do printf '\r%5d of 20000' $i >&2; done; echo >&2; echo done")
        job = self.submit(script).out.split()[0]
        logs = self.accel("logs", job)
        self.assertEqual(logs.out, "done\n")
        self.assertTrue(logs.err.endswith("\r20000 of 20000\n"), logs)
        self.assertLess(len(logs.err), 2000)


class Budget(OnDisk):
    """The agent may keep 64 MiB of all jobs together."""

    def start_agent(self, name):
        return super().start_agent(name, flags=("--output_limit", "64MiB"))

    def test_the_oldest_output_makes_room(self):
        jobs = [self.submit(self.script("head -c 40000000 /dev/zero | tr '\\0' x; echo")).out.split()[0]
                for _ in range(3)]
        cluster.wait_until(lambda: self.size_on_disk() <= 64 << 20, 60, "the output fits")
        for job in jobs[:2]:
            logs = self.accel("logs", job)
            self.assertEqual((logs.code, logs.out), (1, ""), logs)
            self.assertIn("was deleted to make room", logs.err)
        newest = self.accel("logs", jobs[2])
        self.assertEqual((newest.code, len(newest.out)), (0, 40_000_001))
        cluster.wait_until(lambda: "deleted output of jobs" in self.log("n1"), 60, "the agent says so")


if __name__ == "__main__":
    cluster.main()
