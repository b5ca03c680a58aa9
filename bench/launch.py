"""Two processes of /bin/true: from the command to its exit."""

from bench import harness


def cold(pairs):
    """Compares `accel launch`, with no daemon running, with torchrun."""
    bench = harness.Benchmark("launch of 2 x /bin/true, nothing running before", "s",
                              "<= 0.060 s and >= 20 times faster than torchrun")
    accel = [harness.ACCEL, "launch", "--cpu", "--num_processes", "2", "/bin/true"]
    torchrun = [*harness.TORCHRUN, "--nproc_per_node", "2", "--no_python", "/bin/true"]
    harness.wall(accel)
    harness.wall(torchrun)
    for _ in range(pairs):
        bench.add(accel=harness.wall(accel)[0], torchrun=harness.wall(torchrun)[0])
    return bench.summary()


def submit(pairs):
    """Times the same through a running coordinator and agent."""
    bench = harness.Benchmark("submit --wait of 2 x /bin/true, daemons running", "s",
                              "<= 0.020 s (srun -n2 /bin/true: 0.126 s, quoted)")
    with harness.Cluster() as cluster:
        command = [harness.ACCEL, "submit", "--wait", "--cpu", "--processes_per_node", "2", "/bin/true"]
        harness.wall(command, cluster.env)
        for _ in range(3 * pairs):
            bench.add(accel=harness.wall(command, cluster.env)[0])
    return bench.summary()
