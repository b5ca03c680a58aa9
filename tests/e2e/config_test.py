"""Configuration files of Accelerate and job files, with real processes."""

from tests.e2e import cluster


class DefaultFile(cluster.Test):
    """`accel launch` with a default file and without --cpu."""

    def setUp(self):
        super().setUp()
        self.script("exec env", "train")

    def launch_with(self, config, *arguments):
        folder = self.path("hf/accelerate")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "default_config.yaml").write_text(config)
        return self.accel("launch", *arguments, "./train", env={"HF_HOME": str(self.path("hf"))})

    def test_its_settings_reach_workers(self):
        result = self.launch_with("distributed_type: FSDP\nuse_cpu: true\nnum_processes: 2\nmixed_precision: bf16\n"
                                  "fsdp_config:\n  sharding_strategy: SHARD_GRAD_OP\n")
        self.assertEqual(result.code, 0, result)
        for rank in range(2):
            for line in ("WORLD_SIZE=2", "ACCELERATE_MIXED_PRECISION=bf16", "ACCELERATE_USE_FSDP=true",
                         "FSDP_SHARDING_STRATEGY=SHARD_GRAD_OP", "FSDP_MIN_NUM_PARAMS=100000000"):
                self.assertIn(f"[rank {rank}] {line}\n", result.out)

    def test_flags_win(self):
        result = self.launch_with("distributed_type: MULTI_CPU\nnum_processes: 3\n", "--num-processes", 2,
                                  "--role", "trainer", "--env", "OMP_NUM_THREADS=7")
        self.assertEqual(result.code, 0, result)
        for line in ("[rank 1] WORLD_SIZE=2", "[rank 1] ROLE_NAME=trainer", "[rank 1] OMP_NUM_THREADS=7"):
            self.assertIn(line, result.out)

    def test_a_wrong_key_starts_nothing(self):
        result = self.launch_with("distributed_type: MULTI_CPU\nnum_process: 3\n")
        self.assertEqual((result.code, result.out), (2, ""), result)
        self.assertIn("default_config.yaml:2:1: unknown key num_process; did you mean num_processes?", result.err)

    def test_cpu_leaves_it_alone(self):
        result = self.launch_with("broken: [", "--cpu")
        self.assertEqual(result.code, 0, result)
        self.assertNotIn("WORLD_SIZE=", result.out)

    def test_an_old_key_is_mentioned_unless_quiet(self):
        config = "distributed_type: NO\nuse_cpu: true\nnum_processes: 1\nfp16: true\n"
        said = self.launch_with(config)
        self.assertIn("default_config.yaml:4:1: fp16 is an old key; use mixed_precision: fp16", said.err)
        self.assertIn("ACCELERATE_MIXED_PRECISION=fp16\n", said.out)
        self.assertEqual(self.launch_with(config, "--quiet").err, "")

    def test_a_dry_run_starts_nothing(self):
        result = self.launch_with("distributed_type: MULTI_CPU\nnum_processes: 2\n", "--dry_run")
        self.assertEqual(result.code, 0, result)
        self.assertIn("node 0: 2 processes, ranks 0 to 1, on CPUs\n", result.out)
        self.assertIn(f"  {self.path('train')}\n", result.out)
        self.assertNotIn("[rank", result.out)


class Cluster(cluster.ClusterTest):
    AGENTS = 2

    def test_one_launch_starts_several_machines(self):
        result = self.accel("launch", "--cpu", "--num_machines", 2, "--num_processes", 3, "/bin/sh", "-c",
                            "echo rank $RANK of $WORLD_SIZE on $GROUP_RANK")
        self.assertEqual(result.code, 0, result)
        logs = self.accel("logs", result.out.split()[0])
        for line in ("rank 0 of 3 on 0", "rank 1 of 3 on 0", "rank 2 of 3 on 1"):
            self.assertIn(line, logs.out)

    def test_a_coordinator_gets_a_job_for_one_machine(self):
        echo = ("--cpu", "--num_processes", 2, "/bin/sh", "-c", "echo rank $RANK of $WORLD_SIZE")
        address = self.env["ACCEL_COORDINATOR"]
        result = self.accel("launch", "--coordinator", address, *echo)
        self.assertEqual(result.code, 0, result)
        self.assertIn("rank 1 of 2", self.accel("logs", result.out.split()[0]).out)
        self.path("cluster.yaml").write_text(f"distributed_type: NO\nnum_processes: 2\ncoordinator: {address}\n")
        result = self.accel("launch", "--config_file", "cluster.yaml", *echo)
        self.assertIn("rank 1 of 2", self.accel("logs", result.out.split()[0]).out)

    def test_the_variable_alone_leaves_a_launch_on_its_machine(self):
        result = self.accel("launch", "--cpu", "--num_processes", 2, "/bin/sh", "-c", "echo rank $RANK")
        self.assertEqual((result.code, sorted(result.out.splitlines())), (0, ["[rank 0] rank 0", "[rank 1] rank 1"]), result)
        result = self.accel("launch", "--cpu", "--num_machines", 2, "--num_processes", 2, "--main_process_ip", "10.0.0.1",
                            "true")
        self.assertEqual(result.code, 0, result)
        self.assertIn("--main_process_ip has no effect, because ACCEL_COORDINATOR names a cluster", result.err)

    def test_a_machine_rank_is_refused(self):
        result = self.accel("launch", "--cpu", "--num_machines", 2, "--num_processes", 2, "--machine_rank", 1, "true")
        self.assertEqual(result.code, 2, result)
        self.assertIn("one command starts the processes on every machine", result.err)

    def test_a_job_is_submitted_from_a_file(self):
        self.path("job.yaml").write_text("program: /bin/echo\nargs: [from, file]\ncpu: true\nprocesses_per_node: 2\n"
                                         "env: {A: b}\nwait: true\n")
        result = self.accel("submit", "job.yaml", "and", "line")
        self.assertEqual(result.code, 0, result)
        logs = self.accel("logs", result.out.split()[0])
        self.assertEqual(logs.out.count("from file and line"), 2, logs)


if __name__ == "__main__":
    cluster.main()
