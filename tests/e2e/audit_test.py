"""The owner of a job, and what the audit log says about it."""

import json
import os
import pwd

from tests.e2e import cluster

SECRET = "hunter2-is-planted"


class Audit(cluster.ClusterTest):
    def entries(self):
        return [json.loads(line) for line in self.path("coordinator/audit.jsonl").read_text().splitlines()]

    def test_submits_and_cancels_are_logged_without_secrets(self):
        user = pwd.getpwuid(os.geteuid()).pw_name
        script = self.script("touch up; exec sleep 600")
        job = self.accel("submit", "--cpu", "--env", f"PASSWORD={SECRET}", script, SECRET).out.split()[0]
        cluster.wait_until(lambda: self.path("up").exists(), 60, "the job runs")
        [status] = self.jobs(job)
        self.assertEqual(status["spec"]["owner"], user)
        self.assertIn(user, self.accel("status").out)
        self.assertEqual(self.accel("cancel", job).code, 0)
        self.assertEqual(self.accel("cancel", "no-such-job").code, 1)
        self.assertEqual(self.accel("drain", "n1").code, 0)
        expected = [("submit", job, "ok"), ("cancel", job, "ok"), ("drain", "n1", "ok")]

        def done():
            seen = [(entry["action"], entry["object"], entry["result"]) for entry in self.entries()]
            return [entry for entry in seen if entry[2] == "ok"]

        cluster.wait_until(lambda: len(done()) >= len(expected), 60, "the lines are written")
        self.assertEqual(done(), expected)
        for entry in self.entries():
            self.assertEqual((entry["caller"], entry["name"], entry["peer"]), ("owner", user, "unix:"))
        self.assertEqual(self.path("coordinator/audit.jsonl").stat().st_mode & 0o777, 0o600)
        for file in ("coordinator/audit.jsonl", "coordinator.log", "n1.log"):
            self.assertNotIn(SECRET, self.path(file).read_text())


if __name__ == "__main__":
    cluster.main()
