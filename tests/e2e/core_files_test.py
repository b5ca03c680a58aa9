"""Daemons that crash leave no core files, because they have private keys in memory. Of a worker that crashes it is reported
whether there is one."""

import resource
import signal

from tests.e2e import cluster


def allow_core_files():
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


class CoreFiles(cluster.ClusterTest):
    LISTEN = "127.0.0.1:0"

    def start(self, *command, **options):
        return super().start(*command, **{"preexec_fn": allow_core_files, **options})

    def core_files(self):
        return list(self.path("").glob("core*"))

    def abort(self, daemon):
        daemon.send_signal(signal.SIGABRT)
        self.assertEqual(daemon.wait(timeout=60), -signal.SIGABRT)

    def crash(self, script):
        """Runs a worker that ends by SIGABRT. Returns how it ended, and what `accel status` says."""
        result = self.submit("/bin/sh", "-c", script)
        self.assertEqual(result.code, 128 + signal.SIGABRT, result)
        job = result.out.split()[0]
        return self.jobs(job)[0]["cause"]["exit"], self.accel("status", job).out

    def test_daemons_leave_none_and_workers_do(self):
        end, text = self.crash("ulimit -c 0; kill -ABRT $$")
        self.assertEqual((end["signal"], end["core_dumped"], self.core_files()), (signal.SIGABRT, False, []))
        self.assertNotIn("core dumped", text)
        end, text = self.crash("kill -ABRT $$")
        if not self.core_files():
            self.skipTest("no core files in the working directory here")
        self.assertEqual((end["signal"], end["core_dumped"]), (signal.SIGABRT, True))
        self.assertIn("was killed by SIGABRT (6) (core dumped)", text)
        for file in self.core_files():
            file.unlink()
        self.abort(self.agents[0])
        self.abort(self.coordinator)
        self.assertEqual(self.core_files(), [])


if __name__ == "__main__":
    cluster.main()
