"""A coordinator that is killed at any instant loses no job, disturbs none, and runs none twice (invariants 1 and 6)."""

import random
import resource
import signal

from tests.e2e import cluster


class CoordinatorDeath(cluster.ClusterTest):
    AGENTS = 2

    def kill(self):
        self.coordinator.kill()
        self.coordinator.wait()

    def start_again(self):
        self.start_coordinator(listen=self.env["ACCEL_COORDINATOR"])

    def coordinator_command(self, *flags):
        return self.run_command(cluster.COORDINATOR, "--state_dir", self.path("coordinator"), *flags)

    def phase(self, job):
        return self.jobs(job)[0]["phase"]

    def submit_only(self, *arguments):
        """Submits a job without waiting for it, and returns its id."""
        result = self.accel("submit", "--cpu", *arguments)
        self.assertEqual(result.code, 0, result)
        return result.out.split()[-1]

    def test_running_waiting_and_finished_jobs_live_on(self):
        self.assertEqual(self.submit("true").code, 0)
        worker = self.script("echo $$ >> pids.$RANK; until [ -e go ]; do sleep 0.05; done")
        waiting = self.start(cluster.ACCEL, "submit", "--cpu", "--wait", "--nodes", 2, worker)
        for rank in (0, 1):
            self.wait_for_file(f"pids.{rank}")
        # A worker's file comes before the coordinator has stored that the job runs.
        cluster.wait_until(lambda: any(job["phase"] == "RUNNING" for job in self.jobs()), 60, "the job runs")
        queued = self.submit_only("--nodes", 3, "true")
        before = {job["job_id"]: job["phase"] for job in self.jobs()}
        for _ in range(3):
            self.kill()
            self.start_again()
            self.wait_for_nodes(2)
        self.assertEqual({job["job_id"]: job["phase"] for job in self.jobs()}, before)
        self.assertIn("recovered what was stored", self.log("coordinator"))
        self.path("go").touch()
        result = self.finish(waiting)
        self.assertEqual(result.code, 0, f"{result}\n{self.log('coordinator')}")
        # The same processes ran to the end, in one generation.
        for rank in (0, 1):
            self.assertEqual(len(self.path(f"pids.{rank}").read_text().split()), 1)
        self.agents.append(self.start_agent("n3"))
        cluster.wait_until(lambda: self.phase(queued) == "SUCCEEDED", 60, "the queued job runs")

    def test_a_cancel_in_progress_keeps_its_grace(self):
        worker = self.script("trap 'touch term; until [ -e go ]; do sleep 0.05; done; touch saved; exit 0' TERM\n"
                             "touch up; while true; do sleep 0.05; done")
        job = self.submit_only(worker)
        cluster.wait_until(self.path("up").exists, 60, "the job runs")
        self.assertEqual(self.accel("cancel", job).code, 0)
        cluster.wait_until(self.path("term").exists, 60, "the worker is told to stop")
        self.kill()
        self.start_again()
        # A failure's grace of 5 s would end the worker here.
        self.wait_for_nodes(2)
        self.path("go").touch()
        cluster.wait_until(lambda: self.phase(job) == "CANCELLED", 60, "the job ends")
        self.assertTrue(self.path("saved").exists())

    def test_every_acknowledged_job_runs_exactly_once(self):
        worker = self.script("echo $ACCEL_JOB_ID >> ran")
        moments = random.Random(11)
        jobs = []
        for _ in range(8):
            submits = [self.start(cluster.ACCEL, "submit", "--cpu", worker) for _ in range(6)]
            for submit in submits[:moments.randrange(1, 6)]:
                submit.wait(timeout=60)
            self.kill()
            self.start_again()
            for submit in submits:
                result = self.finish(submit)
                self.assertEqual(result.code, 0, f"{result}\n{self.log('coordinator')}")
                jobs.append(result.out.split()[-1])
        self.assertEqual(len(set(jobs)), 48)
        cluster.wait_until(lambda: all(job["phase"] == "SUCCEEDED" for job in self.jobs()), 60, "all jobs end")
        self.assertEqual(sorted(job["job_id"] for job in self.jobs()), sorted(jobs))
        self.assertEqual(sorted(self.path("ran").read_text().split()), sorted(jobs))

    def test_a_disk_that_refuses_writes_refuses_new_jobs_and_disturbs_none(self):
        worker = self.script("touch up; until [ -e go ]; do sleep 0.05; done")
        job = self.submit_only(worker)
        # The worker's file comes before the coordinator has stored that the job runs.
        cluster.wait_until(lambda: self.phase(job) == "RUNNING", 60, "the job runs")
        hard = resource.prlimit(self.coordinator.pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(self.coordinator.pid, resource.RLIMIT_FSIZE, (1, hard))
        refused = self.accel("submit", "--cpu", "true")
        self.assertNotEqual(refused.code, 0)
        self.assertIn("cannot store changes at present, so it takes no new jobs; running jobs go on", refused.err)
        self.assertIn("cluster.db", refused.err)
        self.assertEqual(self.phase(job), "RUNNING")
        resource.prlimit(self.coordinator.pid, resource.RLIMIT_FSIZE, (hard, hard))
        self.path("go").touch()
        cluster.wait_until(lambda: self.phase(job) == "SUCCEEDED", 60, "the job ends")
        self.assertEqual(self.submit("true").code, 0)
        self.assertEqual(self.jobs(job)[0].get("failures", 0), 0)

    def test_a_damaged_store_is_refused_with_the_way_out(self):
        self.assertEqual(self.submit("true", "a-needle-in-the-store").code, 0)
        self.assertIn("1 finished, 2 nodes", self.coordinator_command("--check").out)
        backup = self.path("backup.db")
        self.assertEqual(self.coordinator_command("--backup", backup).code, 0)
        self.coordinator.send_signal(signal.SIGTERM)
        self.assertEqual(self.coordinator.wait(60), 0)

        store = self.path("coordinator") / "cluster.db"
        damaged = store.read_bytes().replace(b"a-needle", b"a-Needle")
        store.write_bytes(damaged)
        for flags in ((), ("--check",)):
            result = self.coordinator_command("--listen", "127.0.0.1:0", *flags)
            self.assertEqual(result.code, 1, result)
            self.assertRegex(result.err, "cluster.db is damaged: the checksum of row job/.*/spec does not match; "
                                         "restore a copy")
        store.write_bytes(backup.read_bytes())
        self.start_again()
        self.assertEqual([job["phase"] for job in self.jobs()], ["SUCCEEDED"])


if __name__ == "__main__":
    cluster.main()
