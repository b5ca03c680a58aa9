"""Measures how many nodes a coordinator can take: how long they need to start one job, and what they cost
while jobs run."""

import resource
import subprocess
import time

from bench import harness

LOAD = harness.BIN / "bench/control/cluster_load"
PLAN_COST = harness.BIN / "bench/control/plan_cost"
FLOOR = harness.BIN / "bench/control/grpc_floor"
PEER = harness.ROOT / "bench/workers/elastic_rendezvous.py"
STORM = harness.BIN / "bench/control/reconnect_storm"
REAL = 64
RETURNING = 1_000  # Agents.
SIMULATED = 10_000
RUNNING = 1_000  # Jobs.
STEADY_SECONDS = 10
QUEUED = 9_000  # Jobs.


def _load(cluster, agents, jobs, nodes, seconds=0):
    """Starts jobs. bench/control/cluster_load.cc says which five figures it returns."""
    command = [LOAD, cluster.env["ACCEL_COORDINATOR"], cluster.coordinator_pid, agents, jobs, nodes,
               seconds]
    return [float(figure) for figure in harness.wall(command, timeout=300)[1].split()]


def _most_agents():
    """Returns how many agents a coordinator can have here, at most 10,000. Each connection has two descriptors."""
    hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return SIMULATED if hard_limit == resource.RLIM_INFINITY else min(SIMULATED, (hard_limit - 2_000) // 2)


def rendezvous(pairs):
    return [_rendezvous_of_agents(pairs), _rendezvous_of_streams(pairs)]


def _rendezvous_of_agents(pairs):
    """From submit until the last agent has its ranks and their environment, which is what torchrun's rendezvous gives its
    agents, and until every worker runs. The agents' folders are in memory: in one file system, 64 nodes would each search
    for free inodes past the thousands that the pair before has just deleted, which is half of the CPU of a start."""
    bench = harness.Benchmark(f"{REAL} agents on this machine, one job over all: until the last one has its ranks, and until "
                              "every worker runs", "s", "ranks <= 0.06; torchrun's rendezvous 1.36 with torch 1.13")
    for _ in range(pairs):
        torchrun = float(harness.wall([harness.VENV / "python", PEER, REAL])[1])
        with harness.Cluster(agents=REAL, agents_in="/dev/shm") as cluster:
            running, _, _, _, submitted = _load(cluster, 0, 1, REAL)
            starts = cluster.starts()
        if len(starts) != REAL:
            raise RuntimeError(f"{len(starts)} agents have received a start")
        bench.add(torchrun=torchrun, ranks=max(starts) - submitted, running=running)
    return bench.summary()


def _rendezvous_of_streams(pairs):
    """The floor is a server that does nothing but write one message to each stream and read the answer."""
    agents = _most_agents()
    bench = harness.Benchmark(f"{agents} simulated agents, one job over all: until every worker runs, and the "
                              "coordinator's CPU for each; and the same for gRPC alone", "s, us", "<= 1 s, <= 80 us")
    for _ in range(pairs):
        floor_seconds, floor_cpu = map(float, harness.wall([FLOOR, agents], timeout=120)[1].split())
        with harness.Cluster(agents=0) as cluster:
            seconds, cpu_seconds, *_ = _load(cluster, agents, 1, agents)
            bench.add(seconds=seconds, us=cpu_seconds / agents * 1e6, grpc_seconds=floor_seconds,
                      grpc_us=floor_cpu / agents * 1e6)
    return bench.summary()


def steady(pairs):
    many = _most_agents()
    bench = harness.Benchmark(f"the coordinator while {RUNNING} jobs run on 1,000 and on {many} simulated agents",
                              "cores, KB for each agent", "<= 0.1 and <= 0.3 cores, <= 130 KB")
    for _ in range(pairs):
        row = {}
        for agents in (1_000, many):
            with harness.Cluster(agents=0) as cluster:
                _, _, cores, memory, _ = _load(cluster, agents, RUNNING, agents // RUNNING, STEADY_SECONDS)
                row |= {f"cores_{agents}": cores, f"kb_{agents}": memory / agents / 1024}
        bench.add(**row)
    return bench.summary()


def plans(pairs):
    bench = harness.Benchmark(f"the planner with {SIMULATED} nodes: to place a job; to queue one behind {QUEUED} others; to take "
                              "a report that changes nothing; to end a job and place the first of the queue", "us", "-")
    for _ in range(pairs):
        place, queue, report, end = map(float, harness.wall([PLAN_COST, SIMULATED, QUEUED])[1].split())
        bench.add(place=place, queue=queue, report=report, end=end)
    return bench.summary()


def storm(pairs):
    """Kills the coordinator while agents with certificates are connected, so that all of them reconnect at
    the same time."""
    bench = harness.Benchmark(f"{RETURNING} agents with TLS return to a coordinator that was killed and restarted: until all "
                              "are connected, and the coordinator's CPU for each", "s, ms", "<= 5 s, <= 4 ms")
    for _ in range(pairs):
        with harness.Cluster(agents=0, tcp=True) as cluster:
            key = harness.wall([harness.ACCEL, "node", "add", "--uses", RETURNING], cluster.env)[1]
            agents = subprocess.Popen([STORM, str(RETURNING)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            agents.stdin.write(key)
            agents.stdin.close()
            _expect(agents, "connected")
            begin = time.monotonic()
            cluster.restart_coordinator()
            _expect(agents, "reconnected")
            seconds = time.monotonic() - begin
            agents.wait(30)
            bench.add(seconds=seconds, ms=harness.cpu_seconds(cluster.coordinator_pid) / RETURNING * 1e3)
    return bench.summary()


def _expect(process, line):
    if process.stdout.readline().strip() != line:
        raise RuntimeError(f"the agents are not {line}")
