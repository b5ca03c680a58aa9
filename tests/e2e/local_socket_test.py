"""The Unix socket of a coordinator: who may use it, and whose socket a command uses."""

import os
import shutil
import socket
import tempfile
import unittest

from tests.e2e import cluster

OTHER = 65534  # A user who is neither the test's nor root.


class LocalSocket(cluster.ClusterTest):
    def test_one_machine_needs_no_secret_and_no_port(self):
        self.assertEqual(self.submit("true").code, 0)
        self.assertFalse(self.path(".config/accel/token").exists())
        self.assertEqual(cluster.listening_sockets(self.coordinator.pid), [])

    def test_the_socket_goes_with_its_coordinator(self):
        self.coordinator.terminate()
        self.assertEqual(self.coordinator.wait(timeout=60), 0)
        self.assertFalse(os.path.exists(self.socket))
        gone = self.accel("nodes")
        self.assertEqual(gone.code, 1, gone)
        self.assertIn(f"cannot reach the coordinator at unix:{self.socket}", gone.err)

    @unittest.skipUnless(os.geteuid() == 0, "only root can act as another user")
    def test_another_user_is_refused(self):
        # The other user must reach the program and the socket, so that only the coordinator refuses him.
        os.chmod(os.path.dirname(self.socket), 0o755)
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            os.chmod(folder, 0o755)
            accel = shutil.copy(cluster.ACCEL, folder)
            result = self.run_command(accel, "nodes", env={"HOME": folder}, cwd=folder, user=OTHER)
        self.assertEqual(result.code, 1, result)
        self.assertIn("cannot reach the coordinator", result.err)
        cluster.wait_until(lambda: "it is another user's" in self.log("coordinator"), 60, "the coordinator says why")
        self.assertIn(f"uid={OTHER}", self.log("coordinator"))
        self.assertEqual(self.accel("nodes").code, 0)


class Squatters(cluster.Test):
    def test_nothing_is_sent_to_a_socket_in_a_folder_of_all_users(self):
        os.chmod(os.path.dirname(self.socket), 0o777)
        self.check("chmod go-w")

    @unittest.skipUnless(os.geteuid() == 0, "only root can give a folder to another user")
    def test_nothing_is_sent_to_a_socket_in_a_folder_of_another_user(self):
        folder = os.path.dirname(self.socket)
        os.chmod(folder, 0o755)
        os.chown(folder, OTHER, OTHER)
        self.check("it belongs to another user")

    def check(self, why):
        with socket.socket(socket.AF_UNIX) as squatter:
            squatter.bind(self.socket)
            squatter.listen()
            squatter.setblocking(False)
            for command in ([cluster.ACCEL, "nodes"], [cluster.AGENT, "--state_dir", self.path("a")],
                            [cluster.COORDINATOR, "--state_dir", self.path("c")]):
                result = self.run_command(*command, env={"ACCEL_COORDINATOR": f"unix:{self.socket}"})
                self.assertEqual(result.code, 1, result)
                self.assertIn(why, result.err)
            with self.assertRaises(BlockingIOError):
                squatter.accept()


if __name__ == "__main__":
    cluster.main()
