"""`accel launch` with real processes: environment, exit codes, signals, programs that cannot start."""

import json
import os
import signal
import subprocess

from tests.e2e import cluster


class Environment(cluster.Test):
    def test_every_rank_has_torchruns_environment(self):
        script = self.script('env -0 | tr "\\0" "\\n" > env.$RANK')
        result = self.launch("--num_processes", 3, script)
        self.assertEqual(result.code, 0, result)
        for rank in range(3):
            env = dict(line.split("=", 1) for line in self.path(f"env.{rank}").read_text().splitlines() if "=" in line)
            self.assertEqual(env["WORLD_SIZE"], "3")
            self.assertEqual(env["LOCAL_RANK"], str(rank))
            self.assertEqual(env["LOCAL_WORLD_SIZE"], "3")
            self.assertEqual(env["MASTER_ADDR"], "127.0.0.1")
            self.assertEqual(env["TORCHELASTIC_USE_AGENT_STORE"], "True")
            self.assertEqual(env["TORCHELASTIC_RESTART_COUNT"], "0")
            self.assertEqual(env["OMP_NUM_THREADS"], "1")
            self.assertEqual(env["ACCELERATE_USE_CPU"].lower(), "true")
            self.assertEqual(env["ACCELERATE_MIXED_PRECISION"], "no")

    def test_a_world_of_one_has_no_rank(self):
        result = self.launch(self.script("env"))
        self.assertEqual(result.code, 0, result)
        names = {line.split("=")[0] for line in result.out.splitlines()}
        self.assertIn("ACCEL_JOB_ID", names)
        self.assertIn("ACCELERATE_USE_CPU", names)
        for absent in ("RANK", "WORLD_SIZE", "MASTER_PORT", "TORCHELASTIC_USE_AGENT_STORE"):
            self.assertNotIn(absent, names)

    def test_a_users_thread_count_is_kept(self):
        result = self.launch("--num_processes", 2, self.script("echo threads $OMP_NUM_THREADS"),
                             env={"OMP_NUM_THREADS": "3"})
        self.assertEqual(result.out.count("threads 3"), 2, result)

    def test_workers_do_not_see_keys(self):
        result = self.launch(self.script("env"), env={"ACCEL_LOGIN": "s3cret"})
        self.assertEqual(result.code, 0, result)
        self.assertNotIn("s3cret", result.out)

    def test_workers_inherit_no_descriptors(self):
        result = self.launch("--num_processes", 2, "/bin/ls", "/proc/self/fd")
        # Descriptor 3 is the folder that ls lists.
        self.assertEqual(sorted(result.out.splitlines()), [f"[rank {rank}] {fd}" for rank in range(2) for fd in range(4)])


class Output(cluster.Test):
    def test_lines_carry_their_rank_and_keep_their_stream(self):
        result = self.launch("--num_processes", 2, self.script("echo out $RANK; echo err $RANK >&2"))
        self.assertEqual(sorted(result.out.splitlines()), ["[rank 0] out 0", "[rank 1] out 1"])
        for rank in range(2):
            self.assertIn(f"[rank {rank}] err {rank}", result.err)

    def launch_with_little_room(self, prepare, *command):
        """Runs `accel launch` in its own mount namespace, with a file system of 1 MiB as its temporary folder."""
        if subprocess.run(["unshare", "-rm", "true"], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("this user may not make a mount namespace, so no small file system can be had")
        small = self.path("small")
        small.mkdir()
        mount = self.script(f"mount -t tmpfs -o size=1m tmpfs {small}; {prepare}; exec \"$@\"", name="mount.sh")
        return self.run_command("unshare", "-rm", mount, cluster.ACCEL, "launch", "--cpu", *command,
                                env={"TMPDIR": str(small)})

    def test_a_full_temporary_folder_costs_no_output(self):
        result = self.launch_with_little_room("head -c 2000000 /dev/zero > $TMPDIR/fill",
                                              self.script("echo hi; echo no >&2; exit 3"))
        self.assertEqual((result.code, result.out), (3, "hi\n"), result)
        self.assertIn("its last lines:", result.err)

    def test_a_temporary_folder_that_fills_up_costs_no_output(self):
        result = self.launch_with_little_room(":", self.script("seq 10000000 10600000"))
        self.assertEqual(result.code, 0, result.err)
        self.assertEqual(result.out, "".join(f"{i}\n" for i in range(10000000, 10600001)))

    def test_more_ranks_than_the_soft_limit_of_open_files(self):
        # Each rank needs two pipes and two files. The shim and the launch raise their limits to the hard limit.
        limited = self.script("ulimit -Sn 64; exec \"$@\"", name="limited.sh")
        result = self.run_command(limited, cluster.ACCEL, "launch", "--cpu", "--num_processes", 100,
                                  self.script("echo limit $(ulimit -n)"))
        self.assertEqual(result.code, 0, result.err)
        self.assertEqual(sorted(result.out.splitlines()), sorted(f"[rank {rank}] limit 64" for rank in range(100)))

    def test_a_single_process_prints_unchanged_bytes(self):
        result = self.launch(self.script("printf 'no newline'"))
        self.assertEqual(result.out, "no newline")

    def test_arguments_may_have_any_bytes(self):
        result = self.launch(self.script('printf %s "$1" | od -An -tx1'), os.fsdecode(b"a\xff"))
        self.assertEqual((result.code, result.out.split()), (0, ["61", "ff"]), result)

    def test_a_gigabyte_is_bounded_on_disk(self):
        # The reader is slow on purpose: it reads nothing until the worker has ended.
        logs = self.path("logs")
        script = self.script("head -c 1000000000 /dev/zero | tr '\\0' x; echo; echo the end; touch done")
        read, write = os.pipe()
        process = self.start(cluster.ACCEL, "launch", "--cpu", "--log_dir", logs, script, stdout=write)
        os.close(write)
        cluster.wait_until(lambda: self.path("done").exists(), 400, "the worker is not blocked by a slow reader")
        size = sum(file.stat().st_size for file in logs.rglob("*") if file.is_file())
        self.assertLess(size, 100 << 20)
        tail = b""
        while piece := os.read(read, 1 << 20):
            tail = (tail + piece)[-4096:]
        os.close(read)
        self.assertEqual(self.finish(process).code, 0)
        self.assertTrue(tail.endswith(b"the end\n"), tail[-100:])

    def test_a_reader_that_leaves_ends_the_launch(self):
        # SIGPIPE ends any program that writes to a closed pipe. `train | head` must end too.
        for shown in ("", "2>&1 >/dev/null"):
            worker = self.script("trap 'touch ended; exit 0' TERM\nwhile :; do echo y; echo y >&2; done")
            result = self.run_command("/bin/bash", "-c", f"{cluster.ACCEL} launch --cpu {worker} {shown} | head -2; "
                                      "exit ${PIPESTATUS[0]}")
            self.assertEqual((result.code, result.out), (141, "y\ny\n"), result)
            self.assertTrue(self.path("ended").exists())
            self.path("ended").unlink()

    def test_output_that_cannot_be_written_is_an_error(self):
        with open("/dev/full", "wb") as full:
            result = self.finish(self.start(cluster.ACCEL, "launch", "--cpu", "echo", "hi", stdout=full))
        self.assertEqual(result.code, 1, result)
        self.assertIn("3 bytes of output are lost: No space left on device", result.err)

    def test_training_continues_if_output_cannot_be_written(self):
        script = self.script("echo hi; while [ ! -e go ]; do sleep 0.02; done; exit 5")
        with open("/dev/full", "wb") as full:
            process = self.start(cluster.ACCEL, "launch", "--cpu", script, stdout=full)
        self.assertIn(b"cannot write output: No space left on device", process.stderr.readline())
        self.path("go").touch()
        self.assertEqual(self.finish(process).code, 5)

    def test_input_that_no_worker_gets_is_reported(self):
        self.script("")
        for given in ("echo x | ", "< script.sh "):
            result = self.run_command("/bin/bash", "-c", f"{given} {cluster.ACCEL} launch --cpu cat")
            self.assertEqual((result.code, result.out), (0, ""), result)
            self.assertEqual(result.err.count("workers do not get the standard input"), 1, result)
        result = self.launch("cat")
        self.assertEqual((result.code, result.err), (0, ""), result)

    def test_waiting_for_input_gets_end_of_file(self):
        result = self.launch("--num_processes", 2, self.script("read line || echo nothing"))
        self.assertEqual(result.code, 0, result)
        self.assertEqual(result.out.count("nothing"), 2)


class ExitCodes(cluster.Test):
    def test_the_first_failing_workers_code(self):
        for code in (1, 3, 42, 255):
            with self.subTest(code=code):
                result = self.launch("--num_processes", 2,
                                     self.script(f"[ $RANK = 1 ] && {{ echo rank one says no; exit {code}; }}; exec sleep 600"))
                self.assertEqual(result.code, code, result)
                self.assertIn("rank 1", result.err)
                self.assertIn(f"code {code}", result.err)
                self.assertIn("rank one says no", result.err)

    def test_a_signal_is_128_and_its_number(self):
        for name in ("KILL", "SEGV", "TERM", "USR1", "ABRT"):
            with self.subTest(signal=name):
                result = self.launch("--num_processes", 2, self.script(f"[ $RANK = 0 ] && kill -{name} $$; exec sleep 600"))
                self.assertEqual(result.code, 128 + getattr(signal, f"SIG{name}"), result)
                self.assertIn(f"SIG{name}", result.err)
                self.assertIn("rank 0", result.err)

    def test_zero_of_one_rank_does_not_end_the_job(self):
        result = self.launch("--num_processes", 2, self.script("[ $RANK = 0 ] && exit 0; touch other; exit 0"))
        self.assertEqual(result.code, 0, result)
        self.assertTrue(self.path("other").exists())

    def test_a_program_that_does_not_exist(self):
        for arguments in (["no-such-program"], ["./no/such/program"]):
            result = self.launch("--num_processes", 2, *arguments)
            self.assertEqual(result.code, 127, result)
            self.assertIn(arguments[0].split("/")[-1], result.err)

    def test_a_program_that_is_not_executable(self):
        self.path("plain").write_text("text")
        result = self.launch("./plain")
        self.assertEqual(result.code, 126, result)
        self.assertIn("plain", result.err)

    def test_a_script_that_does_not_exist(self):
        result = self.launch("missing.py")
        self.assertEqual(result.code, 127, result)
        self.assertIn("missing.py", result.err)

    def test_wrong_usage(self):
        for arguments in ([], ["--no_such_flag", "true"], ["--num_processes", "none", "true"],
                          ["--mixed_precision", "fp12", "true"]):
            result = self.launch(*arguments)
            self.assertEqual(result.code, 2, result)
            self.assertNotEqual(result.err, "")


class Restarts(cluster.Test):
    def test_a_failed_worker_restarts_the_job(self):
        script = self.script('echo "$RANK $TORCHELASTIC_RESTART_COUNT $ACCEL_GENERATION" >> tries; '
                             '[ $RANK = 1 ] && [ $TORCHELASTIC_RESTART_COUNT -lt 2 ] && exit 7; exit 0')
        result = self.launch("--num_processes", 2, "--max_restarts", 3, script)
        self.assertEqual(result.code, 0, result)
        tries = self.path("tries").read_text().splitlines()
        self.assertIn("1 2 3", tries)
        self.assertNotIn("1 3 4", tries)

    def test_the_budget_ends(self):
        script = self.script('echo x >> tries; exit 9')
        result = self.launch("--max_restarts", 2, script)
        self.assertEqual(result.code, 9, result)
        self.assertEqual(len(self.path("tries").read_text().splitlines()), 3)


if __name__ == "__main__":
    cluster.main()
