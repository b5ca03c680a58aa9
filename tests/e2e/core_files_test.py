"""Daemons that crash leave no core files, because they have private keys in memory."""

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

    def test_daemons_leave_none_and_workers_do(self):
        result = self.submit("/bin/sh", "-c", "kill -ABRT $$")
        self.assertEqual(result.code, 128 + signal.SIGABRT, result)
        if not self.core_files():
            self.skipTest("no core files in the working directory here")
        for file in self.core_files():
            file.unlink()
        self.abort(self.agents[0])
        self.abort(self.coordinator)
        self.assertEqual(self.core_files(), [])


if __name__ == "__main__":
    cluster.main()
