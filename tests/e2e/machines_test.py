"""`accel launch` on several machines, with no other program running. The machines are network namespaces with real
addresses, whose own names are 127.0.1.1 (tests/e2e/hosts.py)."""

import os
import pathlib
import signal
import sys
import time

from tests.e2e import cluster, hosts

FIRST_COLLECTIVE = cluster.runfile("bench/worker/first_collective")
# The hosts have network namespaces, so every port is free there.
PORT = 4000
# Greets the rendezvous store in its own protocol (VALIDATE, PING) and expects its answer. The store ends with its job,
# so each rank waits until all have been answered.
GREET = """
import os, pathlib, socket, struct, time
with socket.create_connection((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])), timeout=20) as store:
    store.sendall(struct.pack("<BI", 0, 0x3C85F7CE) + struct.pack("<BI", 13, 4711))
    answer = store.recv(4, socket.MSG_WAITALL)
assert answer == struct.pack("<I", 4711), answer
print("%(RANK)s of %(WORLD_SIZE)s on %(ACCEL_NODE)s, store at %(MASTER_ADDR)s, interface %(GLOO_SOCKET_IFNAME)s" % os.environ)
pathlib.Path("answered.%(RANK)s" % os.environ).touch()
while len(list(pathlib.Path().glob("answered.*"))) < int(os.environ["WORLD_SIZE"]):
    time.sleep(0.02)
"""
# Writes its pid, and runs until the file `end` exists.
STAY = """
echo $$ > new.$RANK; mv new.$RANK pid.$RANK
until [ -e end ]; do sleep 0.05; done
"""

# A rank of torch.distributed. Gloo finds its interface in the environment, because the name of the host is 127.0.1.1.
PYTHON_WORKER = """
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
ranks = torch.tensor([dist.get_rank()])
dist.all_reduce(ranks)
print(f"{dist.get_rank()} of {dist.get_world_size()}: sum {ranks.item()}", flush=True)
dist.destroy_process_group()
"""


class Machines(cluster.Test):
    COUNT = 2

    def setUp(self):
        if reason := hosts.why_not():
            self.skipTest(reason)
        self.hosts = hosts.Hosts(self.COUNT, real=True)
        self.addCleanup(self.hosts.close)
        super().setUp()

    def begin(self, host, *arguments, machines=None, ip=None, **options):
        """Starts the command of one machine."""
        place = () if ip == "" else ("--main_process_ip", ip or self.hosts.address(1), "--main_process_port", PORT)
        return self.start(*self.hosts.inside(host), cluster.ACCEL, "launch", "--cpu", "--num_machines",
                          machines or self.COUNT, *place, *arguments, **options)

    def on_all(self, *arguments, **options):
        """Runs the same command on each machine, in turn, and returns the results."""
        return self.ends([self.begin(host, *arguments, **options) for host in range(1, self.COUNT + 1)])

    def ends(self, processes):
        return [self.finish(process) for process in processes]

    def greet(self):
        return self.script(GREET, name="greet", shell=sys.executable)

    def assert_all_succeed(self, results):
        for result in results:
            self.assertEqual(result.code, 0, results)

    def stays(self, *arguments):
        """Starts a job that stays, on each machine, and waits until all ranks run. Returns the commands."""
        script = self.script(STAY, name="stay")
        processes = [self.begin(host, *arguments, script) for host in range(1, self.COUNT + 1)]
        for rank in range(self.COUNT):
            self.pid_of(rank)
        return processes

    def pid_of(self, rank):
        return int(self.wait_for_file(f"pid.{rank}"))

    def wait_for_dead(self, seconds=60):
        pids = [int(path.read_text()) for path in pathlib.Path(self.dir).glob("pid.*")]
        cluster.wait_until(lambda: not any(cluster.is_alive(pid) for pid in pids), seconds, "no worker is left")


class OneJob(Machines):
    def test_each_terminal_has_the_output_of_its_machine(self):
        results = self.on_all("--num_processes", 3, self.greet())
        self.assert_all_succeed(results)
        said = [[line.partition("] ")[2] for line in sorted(result.out.splitlines())] for result in results]
        self.assertEqual(said, [
            ["0 of 3 on h1, store at 10.77.0.1, interface eth0", "1 of 3 on h1, store at 10.77.0.1, interface eth0"],
            ["2 of 3 on h2, store at 10.77.0.1, interface eth0"]])

    def test_first_collective_of_cpp_workers(self):
        self.assert_all_succeed(self.on_all("--num_processes", 4, FIRST_COLLECTIVE))

    def test_first_collective_of_python_workers(self):
        results = self.on_all("--num_processes", 2, "--python", cluster.PYTHON, self.python(PYTHON_WORKER), ip="h1")
        self.assert_all_succeed(results)
        for rank, result in enumerate(results):
            self.assertIn(f"{rank} of 2: sum 1", result.out)

    def test_the_others_may_start_first(self):
        second = self.begin(2, "--num_processes", 2, self.greet(), stderr=None)
        # Its threads show that it has begun to look for the others.
        cluster.wait_until(lambda: second.poll() is None and self.has_threads(second.pid), 60, "the second machine waits")
        first = self.begin(1, "--num_processes", 2, self.greet())
        self.assert_all_succeed(self.ends([first, second]))

    @staticmethod
    def has_threads(pid):
        return len(os.listdir(f"/proc/{pid}/task")) > 2

    def test_a_name_that_is_127_0_1_1_at_home_serves_everywhere(self):
        results = self.on_all("--num_processes", 2, self.greet(), ip="h1")
        self.assert_all_succeed(results)
        self.assertIn("store at 10.77.0.1", results[1].out)

    def test_of_a_name_of_several_machines_one_serves(self):
        results = self.on_all("--num_processes", 2, self.greet(), ip="all")
        self.assert_all_succeed(results)
        self.assertIn("store at 10.77.0.1", results[1].out)

    def test_a_name_may_have_addresses_of_both_families(self):
        results = self.on_all("--num_processes", 2, self.greet(), ip="both")
        self.assert_all_succeed(results)
        self.assertIn("store at 10.77.0.1", results[1].out)

    def test_ipv6(self):
        results = self.on_all("--num_processes", 2, self.greet(), ip=self.hosts.address6(1))
        self.assert_all_succeed(results)
        self.assertIn("store at fd77::1", results[1].out)

    def test_one_endpoint_and_machine_ranks(self):
        flags = ("--num_processes", 2, "--rdzv_endpoint", f"{self.hosts.address(2)}:{PORT}", "--rdzv_id", "x")
        first = self.begin(1, *flags, "--machine_rank", 1, self.greet(), ip="")
        second = self.begin(2, *flags, "--machine_rank", 0, self.greet(), ip="")
        results = self.ends([first, second])
        self.assert_all_succeed(results)
        self.assertIn("0 of 2 on h2, store at 10.77.0.2", results[1].out)

    def test_each_machine_may_have_its_own_number_of_processes(self):
        results = self.ends([self.begin(1, "--nproc_per_node", 1, self.greet()),
                             self.begin(2, "--nproc_per_node", 3, self.greet())])
        self.assert_all_succeed(results)
        self.assertIn("3 of 4 on h2", results[1].out)

    def test_ports_of_the_store(self):
        results = self.on_all("--num_processes", 2, "--port_range", "5000-5001", "/bin/sh", "-c", "echo port $MASTER_PORT")
        self.assert_all_succeed(results)
        self.assertRegex(results[0].out, "port 500[01]")


class ThreeMachines(Machines):
    COUNT = 3

    def test_first_collective_of_cpp_workers(self):
        self.assert_all_succeed(self.on_all("--num_processes", 3, FIRST_COLLECTIVE))

    def test_a_machine_too_many_is_refused(self):
        script = self.script(STAY, name="stay")
        two = [self.begin(host, "--num_processes", 2, script, machines=2) for host in (1, 2)]
        for rank in range(2):
            self.pid_of(rank)
        third = self.finish(self.begin(3, "--num_processes", 2, script, machines=2))
        self.assertEqual(third.code, 1, third)
        self.assertIn("the run has its 2 machines", third.err)
        self.path("end").touch()
        self.assert_all_succeed(self.ends(two))

    def test_the_machine_that_serves_is_killed(self):
        processes = self.stays()
        processes[0].kill()
        begin = time.monotonic()
        others = self.ends(processes[1:])
        print(f"the others have ended after {time.monotonic() - begin:.3f} s")
        for other in others:
            self.assertEqual(other.code, 1, others)
            self.assertIn("10.77.0.1:4000) is gone: its connection has ended", other.err)
        self.finish(processes[0])
        self.wait_for_dead()


class Refusals(Machines):
    def keys(self):
        """Gives each machine a home and a key of its own."""
        for host in (1, 2):
            home = self.path(f"home{host}/.config/accel")
            home.mkdir(parents=True)
            (home / "token").write_text(str(host) * 64)
            (home / "token").chmod(0o600)
            yield {"HOME": str(self.path(f"home{host}"))}

    def test_another_key(self):
        one, two = self.keys()
        first = self.begin(1, "/bin/true", env=one)
        second = self.finish(self.begin(2, "/bin/true", env=two))
        self.assertEqual(second.code, 1, second)
        self.assertIn("10.77.0.1:4000 has another key", second.err)
        self.assertNotIn("2" * 22, second.err)
        first.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(first).code, 128 + signal.SIGINT)

    def test_the_same_key_by_variable(self):
        one, two = self.keys()
        key = {"ACCEL_LAUNCH_KEY": "k" * 32}
        show = ("/bin/sh", "-c", "echo key ${ACCEL_LAUNCH_KEY:-none}")
        results = self.ends([self.begin(1, *show, env={**one, **key}), self.begin(2, *show, env={**two, **key})])
        self.assert_all_succeed(results)
        self.assertIn("key none", results[0].out)

    def test_trust_network(self):
        one, two = self.keys()
        results = self.ends([self.begin(1, "--trust_network", "/bin/true", env=one),
                             self.begin(2, "--trust_network", "/bin/true", env=two)])
        self.assert_all_succeed(results)
        for result in results:
            self.assertIn("any machine that reaches 10.77.0.1:4000 can take part", result.err)

    def test_another_command(self):
        first = self.begin(1, "/bin/echo", "a")
        second = self.finish(self.begin(2, "/bin/echo", "b"))
        self.assertEqual(second.code, 2, second)
        self.assertIn('h1 has "/bin/echo a", h2 has "/bin/echo b"', second.err)
        self.assert_all_succeed(self.ends([first, self.begin(2, "/bin/echo", "a")]))

    def test_no_machine_serves(self):
        result = self.finish(self.begin(2, "--rdzv_timeout", 1, "/bin/true", ip="all"))
        self.assertEqual(result.code, 1, result)
        self.assertIn("no machine serves at all:4000 after 1s", result.err)
        self.assertIn("this machine does not serve, because it cannot listen on 10.77.0.1:4000 (Cannot assign requested "
                      "address)", result.err)
        self.assertNotIn("--listen", result.err)

    def test_not_all_machines_come(self):
        result = self.finish(self.begin(1, "--rdzv_timeout", 1, "/bin/true"))
        self.assertEqual(result.code, 1, result)
        self.assertIn("only 1 of 2 machines is here (h1); run the same command on the others", result.err)


class Ends(Machines):
    """The end on one machine is the end on all of them, and each terminal names the cause."""

    def test_a_failure(self):
        results = self.on_all("--num_processes", 2, "/bin/sh", "-c", "[ $RANK = 0 ] && exec sleep 600; echo no >&2; exit 7")
        for result in results:
            self.assertEqual(result.code, 7, results)
            self.assertIn("rank 1", result.err)
            self.assertIn("h2", result.err)

    def test_a_restart(self):
        worker = ("/bin/sh", "-c", "[ $ACCEL_GENERATION = 1 ] || exit 0; [ $RANK = 1 ] && exit 7; exec sleep 600")
        results = self.on_all("--num_processes", 2, "--max_restarts", 1, *worker)
        self.assert_all_succeed(results)

    def test_ctrl_c_on_either(self):
        for host in (1, 2):
            with self.subTest(host=host):
                for path in pathlib.Path(self.dir).glob("pid.*"):
                    path.unlink()
                processes = self.stays()
                processes[host - 1].send_signal(signal.SIGINT)
                results = self.ends(processes)
                self.assertEqual([result.code for result in results], [130, 130], results)
                self.assertIn(f"machine h{host}: Interrupt", results[2 - host].err)
                self.wait_for_dead()

    def check_kill(self, host, gone):
        processes = self.stays()
        processes[host - 1].kill()
        other = self.finish(processes[2 - host])
        self.assertEqual(other.code, 1, other)
        # Its silence would be noticed later.
        self.assertIn(f"{gone} is gone: its connection has ended", other.err)
        self.finish(processes[host - 1])
        self.wait_for_dead()

    def test_the_machine_that_serves_is_killed(self):
        self.check_kill(1, "10.77.0.1:4000)")

    def test_another_machine_is_killed(self):
        self.check_kill(2, "machine h2 (10.77.0.2)")

    def test_a_machine_vanishes(self):
        processes = self.stays()
        self.hosts.cut(2)
        first = self.finish(processes[0])
        self.assertEqual(first.code, 1, first)
        self.assertIn("h2", first.err)
        second = self.finish(processes[1])
        self.assertEqual(second.code, 1, second)
        self.assertIn("is gone", second.err)
        self.wait_for_dead()


if __name__ == "__main__":
    cluster.main()
