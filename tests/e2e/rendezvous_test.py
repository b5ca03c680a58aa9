"""A rank dies at each step of a rendezvous: the others do not wait for it forever, the next generation has an empty store of
its own, and its ranks meet."""

import sys

from tests.e2e import cluster

# The steps at which a rank of generation 1 dies. The client speaks the protocol of torch's TCPStore.
STEPS = ("before it connects", "before it says who it is", "in the middle of a request", "after it has joined",
         "while it waits for the others", "after all have joined")
WORKER = '''
import os, signal, socket, struct, sys

rank, world, generation = (os.environ[name] for name in ("RANK", "WORLD_SIZE", "ACCEL_GENERATION"))
victim, last_step = sys.argv[1:]


def step(name):
    if generation == "1" and (rank, name) == (victim, last_step):
        os.kill(os.getpid(), signal.SIGKILL)


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def keys(names):
    return struct.pack("<Q", len(names)) + b"".join(map(text, names))


def receive(form):
    data = store.recv(struct.calcsize(form), socket.MSG_WAITALL)
    return struct.unpack(form, data)[0] if data else sys.exit("the store has closed the connection")


step("before it connects")
store = socket.create_connection((os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"]), 60)
store.settimeout(60)
step("before it says who it is")
store.sendall(struct.pack("<BI", 0, 0x3C85F7CE))
mine = "rank/" + rank
store.sendall(b"\\x05" + keys([mine]))  # CHECK
if receive("<B") != 1:
    sys.exit("the store has a rank of an earlier generation")
join = b"\\x01" + text(mine) + text(generation)  # SET
store.sendall(join[:12])
step("in the middle of a request")
store.sendall(join[12:])
step("after it has joined")
everyone = ["rank/%d" % each for each in range(int(world))]
store.sendall(b"\\x06" + keys(everyone))  # WAIT
step("while it waits for the others")
if receive("<B") != 0:
    sys.exit("the wait was cancelled")
step("after all have joined")
met = []
for name in everyone:
    store.sendall(b"\\x03" + text(name))  # GET
    met.append(store.recv(receive("<Q"), socket.MSG_WAITALL).decode())
store.sendall(b"\\x04" + text("done") + struct.pack("<q", 1))  # ADD
with open("met", "a") as file:
    file.write(" ".join([os.environ["ACCEL_JOB_ID"], generation, rank, *met]) + "\\n")
'''


class Rendezvous(cluster.ClusterTest):
    AGENTS = 2

    def test_a_rank_dies_at_each_step(self):
        worker = self.python(WORKER)
        jobs = {}
        for step in STEPS:
            for victim in (0, 1):
                result = self.accel("submit", "--cpu", "--nodes", 2, "--max_restarts", 1, "--", sys.executable, worker, victim, step)
                self.assertEqual(result.code, 0, result)
                jobs[result.out.split()[0]] = (victim, step)
        cluster.wait_until(lambda: all(job["phase"] in ("SUCCEEDED", "FAILED") for job in self.jobs()), 180, "all jobs end")
        for job in self.jobs():
            victim, step = jobs.pop(job["job_id"])
            with self.subTest(victim=victim, step=step):
                self.check(job, victim)
        self.assertEqual(jobs, {})

    def check(self, job, victim):
        self.assertEqual((job["phase"], len(job["generations"]), job["failures"]), ("SUCCEEDED", 2, 1), job)
        cause = job["generations"][0]["cause"]
        self.assertEqual((cause.get("rank", 0), cause["exit"].get("signal")), (victim, 9), cause)
        met = [line.split()[1:] for line in self.path("met").read_text().splitlines() if line.startswith(job["job_id"])]
        # In the last step, the other rank may have met the victim.
        self.assertEqual(sorted(line for line in met if line[0] == "2"), [["2", "0", "2", "2"], ["2", "1", "2", "2"]])
        self.assertTrue(all(line[2:] == ["1", "1"] for line in met if line[0] == "1"), met)


if __name__ == "__main__":
    cluster.main()
