"""Wrong uses of every program: what a person reads, word by word. Each row of the table is a file's state, a command
and the message, which says what happened, where, and what to do. No message is a bare status or a stack trace.

A row that names no other exit code is wrong usage (2)."""

import itertools
import os
import re
import string
import unittest

from tests.e2e import cluster

# What the files hold that the commands name.
FILES = {
    "train.py": "print('trains')\n",
    "plain.sh": "echo hi\n",
    "broken.yaml": "a: [1\n",
    "broken.json": '{"num_processes":\n',
    "unknown.yaml": "distributed_type: NO\nnum_proceses: 2\n",
    "value.yaml": "num_processes: many\n",
    "twice.yaml": "num_processes: 1\nnum_processes: 2\n",
    "alias.yaml": "a: &x 1\n",
    "empty.yaml": "",
    "list.json": "[1, 2]\n",
    "short.safetensors": "x",
    "fp16.yaml": "distributed_type: NO\nfp16: true\nmixed_precision: bf16\nnum_processes: 1\n",
    "gpus.yaml": "distributed_type: MULTI_GPU\nnum_processes: 2\n",
    "both_devices.yaml": "distributed_type: MULTI_GPU\nnum_processes: 2\nuse_cpu: true\n",
    "nvme.yaml": "distributed_type: DEEPSPEED\nnum_processes: 1\ndeepspeed_config:\n  offload_param_device: nvme\n",
    "ds.yaml": "distributed_type: DEEPSPEED\nnum_processes: 1\ndeepspeed_config:\n  deepspeed_config_file: none.json\n",
    "mesh.yaml": "distributed_type: FSDP\nnum_processes: 6\nfsdp_config:\n  fsdp_version: 2\nparallelism_config:\n"
                 "  parallelism_config_dp_shard_size: 4\n",
    "ipex.yaml": "distributed_type: NO\nnum_processes: 1\nipex_config:\n  ipex: true\n",
    "cluster.yaml": "distributed_type: NO\nnum_processes: 1\ncoordinator: nowhere\n",
    "both.yaml": "distributed_type: NO\nnum_processes: 1\ncoordinator: h1:7337\nmain_process_ip: h1\n",
    "cut.json": '{"model_type":\n "bert", "hidd',
    "other.json": '{"model_type": "xyz"}',
    "job.json": '{"program": "true", "env": {"B=C": 1}}\n',
    "processes.yaml": "program: ./train\nnum_processes: 4\n",
    "fsdp.yaml": "program: ./train\nuse_fsdp: true\n",
    "job.yaml": "program: ./train\nprocesses_per_nod: 2\n",
}

# Each row: the words after `accel`, the message after "accel: ", and the exit code if it is not 2.
COMMANDS = [
    # Commands and flags.
    ("sumbit", "there is no command sumbit; did you mean submit?"),
    ("frobnicate", "there is no command frobnicate; `accel --help` lists them"),
    ("tpu-config --tpu_name x", "tpu-config: accel does not drive TPUs"),
    ("launch --num_proceses 2 train.py", "unknown flag --num_proceses; did you mean --num_processes?"),
    ("launch -x train.py", "unknown flag -x; `accel launch --help` lists the flags"),
    ("launch", "PROGRAM is missing: name an executable or a .py file after the flags"),
    ("launch -m", "MODULE is missing: name it after the flags"),
    ("launch --num_processes", "--num_processes needs a value"),
    ("logs", "JOB is missing; `accel logs --help` shows the usage"),
    ("status a b", 'unexpected "b"; `accel status --help` shows the usage'),
    ("config nonsense", 'unexpected "nonsense"; `accel config --help` shows the usage'),
    ("config --mixed_precision bf16", "--mixed_precision is a flag of `accel config default`, which asks nothing; `accel "
     "config` asks for it"),
    ("completion tcsh", 'there is no script for the shell "tcsh"; there are scripts for bash, zsh and fish'),
    ("completion", "bash|zsh|fish is missing; `accel completion --help` shows the usage"),
    # Values of flags.
    ("launch --num_processes 0 true", "--num_processes is 0: it must be a number from 1 to 10000000"),
    ("launch --num_processes -1 true", "--num_processes is -1: it must be a number from 1 to 10000000"),
    ("launch --num_processes x true", '--num_processes "x": it is "x" and must be a whole number'),
    ("launch --cpu --num_processes 100000 true", "--num_processes is 100000: a machine has at most 1024 processes"),
    ("launch --max_restarts 99999 true", "--max_restarts is 99999: it must be a number from 0 to 10000"),
    ("launch --num_cpu_threads_per_process -3 true",
     "--num_cpu_threads_per_process is -3: it must be a number from 1 to 10000"),
    ("launch --main_process_port 99999 true", "--main_process_port is 99999: it must be a number from 0 to 65535"),
    ("launch --monitor_interval x true", '--monitor_interval "x": it is "x" and must be a number'),
    ("launch --cpu --mixed_precision fp4 true",
     '--mixed_precision "fp4": Unknown mixed_precision mode: fp4; it must be no, fp16, bf16 or fp8'),
    ("launch --gpu_ids 0,0 true", "--gpu_ids is 0,0: GPU 0 is named twice"),
    ("launch --gpu_ids x true", '--gpu_ids is x: "x" is not a number from 0 to 1023'),
    ("launch --cpu --tee 7 true",
     "--tee is 7: it must be 0 (nothing), 1 (out), 2 (err), 3 (both), or such for ranks: 0:3,1:1"),
    ("launch --cpu --env = true", '--env "=": it must be NAME=VALUE or NAME'),
    ("launch --cpu --num_machines 2 true", "--num_machines is 2: several machines need an address at which they meet; give "
     "--main_process_ip and --main_process_port, the same on each machine, or --coordinator"),
    ("submit --nodes 0 true", '--nodes "0": it must be a number from 1 to 10000, or MIN:MAX, such as 2:4'),
    ("submit --nodes 4:2 true", '--nodes "4:2": it must be a number from 1 to 10000, or MIN:MAX, such as 2:4'),
    ("submit --processes_per_node 0 true", '--processes_per_node "0": "0" is not a number from 1 to 1024'),
    ("submit --nodes 2 --processes_per_node 1,2,3 true",
     "--processes_per_node has 3 entries for 2 nodes; give one, or one for each node"),
    ("submit --time_limit never true", '--time_limit "never": it must look like 90 (seconds), 15m, 2h, 1d or 1:30:00'),
    ("submit --on_agent_loss maybe true", '--on_agent_loss "maybe": it must be keep or end'),
    ("logs x --rank 3-1", '--rank "3-1": it must look like 3, 0-7 or 0-3,8'),
    ("logs x --grep (", '--grep "(": it is not a regular expression: missing ): ('),
    ("logs x --since yesterday", '--since "yesterday": it must be a duration such as 90 (seconds), 10m, 2h or 1d, or a '
     "time such as 2026-11-22T08:30:00Z or '2026-11-22 08:30'"),
    ("logs x --stream both", '--stream "both": it must be stdout or stderr'),
    ("logs x --tail many", '--tail "many": it must be a number, at least 0'),
    ("estimate-memory --dtypes float8 .",
     '--dtypes "float8": it must be float32, float16, int8 or int4, with commas or spaces between them'),
    ("estimate-memory --library_name keras .", '--library_name "keras": it must be transformers or timm'),
    # Flags that contradict each other, or do nothing.
    ("launch --cpu --gpu_ids 0 true", "`--cpu` and `--gpu_ids` cannot be used together"),
    ("launch -m --no_python x", "`--module` and `--no_python` cannot be used together"),
    ("launch --cpu --python x true", "--python has no effect: true is not a .py file and `--module` is not given"),
    ("launch --multi_gpu --cpu true",
     "You can only use one of `--cpu`, `--multi_gpu`, `--tpu`, `--use_deepspeed`, `--use_fsdp` at a time."),
    ("launch --tpu true", "--tpu: accel does not drive TPUs"),
    ("launch --ipex true", "--ipex: accel does not drive Intel's extension for PyTorch (IPEX)"),
    ("launch --use_xpu true", "--use_xpu: accel does not drive Intel's XPUs"),
    ("launch --use_mps_device true", "--use_mps_device: accel does not drive Apple's GPUs (MPS)"),
    ("config check ipex.yaml",
     "ipex.yaml:4:3: ipex: accel does not drive Intel's extension for PyTorch (IPEX); remove the key"),
    ("launch --nproc_per_node gpu true", "--nproc_per_node is gpu: this machine has no GPU, or CUDA_VISIBLE_DEVICES hides "
     "them; give a number, or --cpu and cpu"),
    ("launch --nproc_per_node all true",
     '--nproc_per_node "all": it is "all" and must be a whole number or gpu, cpu or auto'),
    ("launch --nnodes 1:2 true", '--nnodes "1:2": a launch has a fixed number of machines; a cluster takes a range: accel '
     "submit --nodes 1:2"),
    ("launch --cpu --standalone --nnodes 2 --main_process_ip h1 true",
     "--standalone is for one machine, and there are 2; remove one of the two"),
    ("launch --same_network false train.py",
     'the program is "false": a switch takes no word after it; write --NAME=false'),
    ("drain n --now --undo", "--now and --undo exclude each other"),
    ("logs x --json --fold", "--json and --fold exclude each other; JSON has every line"),
    ("launch --cpu --end_file f --num_machines 2 --main_process_ip h1 true", "--end_file is for a launch on one machine"),
    ("launch --cpu --end_file f --coordinator h1:7337 true", "--end_file is for a launch on one machine"),
    ("launch --cpu --parent 1 true", "--parent 1: that process is not the parent of this one; it may have ended", 1),
    ("launch --cpu --json true", "--json prints the plan of --dry_run; a launch prints what its workers print"),
    ("launch --multi_gpu --num_processes 2 true", "--multi_gpu: this machine has no GPU, or CUDA_VISIBLE_DEVICES hides "
     "them; give --cpu to train on CPUs"),
    ("launch --config_file gpus.yaml true", "gpus.yaml:1:1: distributed_type is MULTI_GPU: this machine has no GPU, or "
     "CUDA_VISIBLE_DEVICES hides them; give --cpu to train on CPUs"),
    ("config check both_devices.yaml", "both_devices.yaml:3:1: use_cpu is True: both_devices.yaml:1:1: distributed_type is "
     "MULTI_GPU; set use_cpu: false, or distributed_type: MULTI_CPU"),
    ("config check fp16.yaml", "fp16.yaml:2:1: fp16 is true, and mixed_precision is bf16 on line 3; remove fp16"),
    ("config check nvme.yaml",
     "nvme.yaml:4:3: offload_param_device is nvme: it needs a folder; set offload_param_nvme_path"),
    ("launch --config_file ds.yaml true", "ds.yaml:4:3: deepspeed_config_file is none.json: there is no such file; the path "
     "is relative to the working directory {dir}"),
    ("config check mesh.yaml", "mesh.yaml:6:3: parallelism_config_dp_shard_size: the sizes of parallelism_config make 4 "
     "processes (dp_shard_size 4), and num_processes is 6; change one of them"),
    # Files.
    ("launch --config_file none.yaml true", "the configuration file none.yaml does not exist"),
    ("launch --config_file dir true", "cannot read the configuration file dir: it is not a regular file"),
    ("config check none.yaml", "the configuration file none.yaml does not exist"),
    ("config check broken.yaml", "broken.yaml:2:1: not valid YAML: end of sequence flow not found"),
    ("config check broken.json", "broken.json:2:1: not valid YAML or JSON: end of map flow not found"),
    ("config check unknown.yaml", "unknown.yaml:2:1: unknown key num_proceses; did you mean num_processes?"),
    ("config check value.yaml", 'value.yaml:1:16: num_processes: it is "many" and must be a whole number'),
    ("config check twice.yaml", "twice.yaml:2:1: the key num_processes is already on line 1; remove one"),
    ("config check alias.yaml", "alias.yaml:1:4: anchors (&name) are not read; remove it"),
    ("config check empty.yaml", "empty.yaml:1:1: the file is empty; it must hold at least distributed_type"),
    ("config check list.json", "list.json:1:1: the file must hold keys with values, such as num_processes: 2"),
    ("config check binary.yaml",
     "binary.yaml: not UTF-8, so it is no YAML or JSON text; check that it is the right file"),
    ("config update --config_file none.yaml", "the configuration file none.yaml does not exist"),
    ("config default --config_file /proc/x.yaml",
     "cannot write /proc/x.yaml: No such file or directory; name another file with --config_file", 1),
    ("submit none.yaml", "the job file none.yaml does not exist"),
    ("submit job.yaml", "job.yaml:2:1: unknown key processes_per_nod; did you mean processes_per_node?"),
    ("submit empty.yaml", "empty.yaml:1:1: the file is empty; it must hold at least program"),
    ("submit list.json", "list.json:1:1: the file must hold keys with values, such as program: ./train"),
    ("submit job.json", 'job.json:1:29: env: "B=C" is not the name of a variable; write NAME: VALUE'),
    ("submit processes.yaml", "processes.yaml:2:1: num_processes is the number on all nodes; use processes_per_node, and "
     "nodes"),
    ("submit fsdp.yaml", "fsdp.yaml:2:1: use_fsdp is a flag of `accel launch`; name a file of FSDP with config_file: "
     "FILE"),
    ("submit --config_file none.yaml true", "the configuration file none.yaml does not exist"),
    ("submit --config_file unknown.yaml true", "unknown.yaml:2:1: unknown key num_proceses; did you mean num_processes?"),
    ("to-fsdp2", "--config_file is missing; it names the file to convert"),
    ("merge-weights --unsafe_serialization dir out", "--unsafe_serialization: accel writes safetensors only, because "
     "loading a pickle can run code; leave the flag out"),
    ("merge-weights --remove_checkpoint_dir dir dir/x.safetensors",
     "--remove_checkpoint_dir: dir/x.safetensors would be removed with dir; choose an OUT outside of it"),
    ("estimate-memory none",
     "none does not exist; MODEL is a file or a folder of this machine, because accel downloads nothing"),
    ("estimate-memory short.safetensors",
     "short.safetensors: it ends too early to be a safetensors file; copy it again"),
    ("estimate-memory cut.json", "cut.json:2:15: not valid JSON: the text ends too early; copy it again"),
    ("estimate-memory other.json", "other.json: the architecture xyz is not known; known are bert, distilbert, gemma, "
     "gemma2, gpt2, gpt_neox, llama, mistral, mixtral, mt5, phi3, qwen2, qwen3, roberta, t5, vit and xlm-roberta. A "
     "safetensors file of the model works for every architecture."),
    ("estimate-memory dir", "dir holds no model.safetensors, no index of one and no config.json"),
    # Programs that cannot run.
    ("launch --cpu --shim /no/shim true", "--shim names /no/shim, which is not an executable file", 1),
    ("launch --cpu no-such-program", "rank 0 on node {node} could not be started: no-such-program was not found on this "
     "node in the job's PATH (/usr/bin:/bin) (generation 1 of job {job}, \"no-such-program\")", 127),
    ("launch --cpu none.py", "rank 0 on node {node} could not be started: {dir}/none.py does not exist on this node "
     '(generation 1 of job {job}, "none.py")', 127),
    ("launch --cpu --dry_run none.py", "rank 0 could not be started: {dir}/none.py does not exist on this node", 127),
    ("launch --cpu --dry_run no-such-program", "rank 0 could not be started: no-such-program was not found on this node in "
     "the job's PATH (/usr/bin:/bin)", 127),
    ("launch --cpu --dry_run ./plain.sh", "rank 0 could not be started: {dir}/plain.sh is not executable on this node: "
     "chmod +x may be missing", 126),
    ("launch --cpu ./plain.sh", "rank 0 on node {node} could not be started: {dir}/plain.sh is not executable on this "
     'node: chmod +x may be missing (generation 1 of job {job}, "plain.sh")', 126),
    ("launch --cpu ./dir", "rank 0 on node {node} could not be started: {dir}/dir is a folder, not a program "
     '(generation 1 of job {job}, "dir")', 126),
    ("launch --cpu --log_dir plain.sh true", "rank 0 on node {node} could not be started: Cannot make the log folder "
     "{dir}/plain.sh/{job}/gen_1 on this node: Not a directory. Choose another with --log_dir (generation 1 of job "
     '{job}, "true")', 1),
    # Addresses and ports.
    ("launch --cpu --coordinator nowhere true",
     '--coordinator is nowhere: "nowhere" has no port: write HOST:PORT, such as 127.0.0.1:7337'),
    ("launch --cpu --coordinator nowhere --dry_run true",
     '--coordinator is nowhere: "nowhere" has no port: write HOST:PORT, such as 127.0.0.1:7337'),
    ("config check cluster.yaml",
     'cluster.yaml:3:1: coordinator is nowhere: "nowhere" has no port: write HOST:PORT, such as 127.0.0.1:7337'),
    ("config check both.yaml", "both.yaml:4:1: main_process_ip is h1: it is for machines that meet without a coordinator, "
     "and both.yaml:3:1: coordinator is given too; remove one of them"),
    ("launch --cpu --coordinator h1:7337 --rdzv_endpoint h1:1 true", "--rdzv_endpoint is h1:1: it is for machines that meet "
     "without a coordinator, and --coordinator is given too; remove one of them"),
    ("launch --cpu --rdzv_endpoint h1:x true", '--rdzv_endpoint is h1:x: "x" is not a port: write a number from 0 to 65535'),
    ("launch --cpu --num_machines 2 --rdzv_endpoint h1:x true", '--rdzv_endpoint is h1:x: "x" is not a port: write a number from 0 to 65535'),
    ("status --coordinator nowhere", '"nowhere" has no port: write HOST:PORT, such as 127.0.0.1:7337'),
    ("status --coordinator 127.0.0.1:99999", '"99999" is not a port: write a number from 0 to 65535'),
    ("nodes --coordinator unix:/run/none/c", "cannot reach the coordinator at unix:/run/none/c; is accel-coordinator running there? "
     "(choose another address with --coordinator or ACCEL_COORDINATOR)", 1),
    ("nodes --coordinator 127.0.0.1:1", "you have not logged in to the coordinator at 127.0.0.1:1; ask an administrator for a key, "
     "and run: accel login; on the coordinator's own machine leave out --coordinator and ACCEL_COORDINATOR, which uses "
     "the Unix socket", 1),
]

# The same for the daemons and the shim: the program, its words, the message, and the exit code.
DAEMONS = [
    ("accel-coordinator", "", "--state_dir is missing; it names the folder of this coordinator, for example "
     "/var/lib/accel-coordinator", 2),
    ("accel-coordinator", "--state_dir s --lisen x", "unknown flag --lisen; did you mean --listen?", 2),
    ("accel-coordinator", "--state_dir s --listen x",
     '--listen "x": "x" has no port: write HOST:PORT, such as 127.0.0.1:7337', 2),
    ("accel-coordinator", "--state_dir s --listen 127.0.0.1:99999",
     '--listen "127.0.0.1:99999": "99999" is not a port: write a number from 0 to 65535', 2),
    ("accel-coordinator", "--state_dir s --listen 192.0.2.1:7337", "cannot listen on 192.0.2.1:7337 (Cannot assign "
     "requested address); choose another address with --listen", 1),
    ("accel-coordinator", "--state_dir s --node_timeout nan",
     '--node_timeout "nan": it must be a number of seconds from 0.5 to 86400', 2),
    ("accel-coordinator", "--state_dir s --check --backup b", "--check and --backup exclude each other; give one", 2),
    ("accel-coordinator", "--state_dir plain.sh --listen 127.0.0.1:0",
     "cannot create the state directory plain.sh: Not a directory; choose another with --state_dir", 1),
    ("accel-agent", "--coordinator 127.0.0.1:1", "--state_dir is missing; it names the folder of this agent, for example "
     "/var/lib/accel-agent", 2),
    ("accel-agent", "--coordinator x --state_dir s", '"x" has no port: write HOST:PORT, such as 127.0.0.1:7337', 2),
    ("accel-agent", "--coordinator 127.0.0.1:1 --state_dir s --output_limit 3",
     '--output_limit "3": it must look like 20GiB, 500MB or 10%, and be at least 64MiB', 2),
    ("accel-agent", "--coordinator 127.0.0.1:1 --state_dir s --on_stop perhaps",
     '--on_stop "perhaps": it must be auto, stay or leave', 2),
    ("accel-agent", "--coordinator unix:/run/none/c --state_dir /proc/y",
     "cannot create the state directory /proc/y: No such file or directory; choose another with --state_dir", 1),
    ("accel-agent", "--coordinator unix:/run/none/c --state_dir s --shim /no",
     "--shim names /no, which is not an executable file", 1),
    ("accel-shim", "", "started without a socket to an agent; accel-agent and accel launch start it, see --help", 2),
    ("accel-shim", "--x", "unknown flag --x; accel-agent and accel launch start it, see --help", 2),
]

PROGRAMS = {"accel-coordinator": cluster.COORDINATOR, "accel-agent": cluster.AGENT, "accel-shim": cluster.SHIM}


class WrongUses(cluster.Test):
    def setUp(self):
        super().setUp()
        for name, text in FILES.items():
            self.path(name).write_text(text)
        self.path("binary.yaml").write_bytes(b"\xff\xfe\x00")
        self.path("dir").mkdir()
        self.env["CUDA_VISIBLE_DEVICES"] = ""

    def check(self, result, program, message, code):
        self.assertEqual(result.code, code, result)
        pattern = re.escape(f"{program}: {message}\n").replace(re.escape("{dir}"), re.escape(self.dir))
        pattern = pattern.replace(re.escape("{node}"), r"\S+").replace(re.escape("{job}"), r"[a-z0-9]+")
        self.assertRegex(result.err, rf"\A{pattern}\Z")
        self.assertEqual(result.out, "")
        self.assertNotRegex(result.err, r"_ARGUMENT|NOT_FOUND|INTERNAL|UNAVAILABLE|StatusCode|terminate called|#0 ")

    def test_the_table_is_long_enough(self):
        self.assertGreaterEqual(len(COMMANDS) + len(DAEMONS), 60)
        self.assertEqual(len({row[0] for row in COMMANDS}), len(COMMANDS))

    def test_commands(self):
        for row in COMMANDS:
            words, message, code = (*row, 2)[:3]
            with self.subTest(words):
                self.check(self.accel(*words.split()), "accel", message, code)

    def test_daemons(self):
        for name, words, message, code in DAEMONS:
            with self.subTest(name, words=words):
                self.check(self.run_command(PROGRAMS[name], *words.split()), name, message, code)

    @unittest.skipIf(os.geteuid() == 0, "root may read every file")
    def test_a_file_that_may_not_be_read(self):
        self.path("train.yaml").write_text("num_processes: 1\n")
        self.path("train.yaml").chmod(0)
        self.check(self.accel("config", "check", "train.yaml"), "accel",
                   "cannot read the configuration file train.yaml: Permission denied", 2)

    def test_flags_without_effect_are_named(self):
        """Accelerate's users give these flags, and accel runs without them."""
        result = self.launch("--rdzv_backend", "static", "--same_network", "--monitor_interval", 1, "true")
        self.assertEqual(result.code, 0, result)
        lines = result.err.splitlines()
        self.assertEqual(len(lines), 3, result)
        for flag in ("rdzv_backend", "same_network", "monitor_interval"):
            self.assertTrue(any(line.startswith(f"accel: --{flag} has no effect: ") for line in lines), result)
        self.assertEqual(self.launch("--quiet", "--same_network", "true").err, "")
        for flag in (("--main_process_ip", "h1"), ("--rdzv_endpoint", "h1:1")):
            self.assertEqual(self.launch(*flag, "true").err, f"accel: {flag[0]} has no effect on one machine\n")

    def test_a_file_of_52000_keys_is_read_in_a_moment(self):
        """The largest file that is read, with the most keys that fit into it."""
        letters = string.ascii_letters
        names = ("".join(name) for name in itertools.product(letters, repeat=3))
        self.path("many.yaml").write_text("".join(f"{name}:\n" for name in itertools.islice(names, 52000)))
        before = os.times().children_user
        result = self.accel("config", "check", "many.yaml")
        self.assertEqual(result.code, 2)
        self.assertIn("many.yaml:1:1: unknown key aaa", result.err)
        self.assertLess(os.times().children_user - before, 1)  # On a busy machine, wall time says little.


class NoPlaceLikeHome(cluster.Test):
    def test_the_default_file_may_be_json(self):
        folder = self.path(".cache/huggingface/accelerate")
        folder.mkdir(parents=True)
        (folder / "default_config.json").write_text('{"distributed_type": "NO", "num_processes": "x"}\n')
        result = self.accel("launch", "true")
        self.assertEqual(result.code, 2, result)
        self.assertIn("default_config.json:1:45: num_processes", result.err)
        (folder / "default_config.yaml").write_text("distributed_type: NO\nnum_processes: y\n")
        self.assertIn("default_config.yaml:2:16: num_processes", self.accel("launch", "true").err)


if __name__ == "__main__":
    cluster.main()
