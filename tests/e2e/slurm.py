"""A Slurm cluster of Debian's packages, on hosts in network namespaces (tests/e2e/hosts.py).

It has no munge: auth/none believes callers, and nothing outside the namespaces can call. The partition `low` gives way to
the partition `high`, by SIGTERM and a grace time.
"""

import contextlib
import os
import pathlib
import shutil
import stat
import subprocess
import tempfile

from tests.e2e import cluster, hosts

_PROGRAMS = ("slurmctld", "slurmd", "srun", "scancel", "sinfo")
_CPUS = 4  # What each node claims to have, whatever the machine has.
_NULL_DEVICE = os.makedev(1, 3)
_CONFIGURATION = """\
ClusterName=test
SlurmctldHost=h1
SlurmUser=root
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
MailProg=/bin/true
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdLogFile={folder}/slurmd.%n.log
SlurmctldLogFile={folder}/slurmctld.log
GresTypes=gpu
{nodes}
PartitionName=low Nodes=ALL Default=YES PriorityTier=1 GraceTime=60
PartitionName=high Nodes=ALL PriorityTier=2
"""


def why_not():
    """Returns why this machine can have no such cluster, or None."""
    if os.geteuid() != 0:
        return "slurmd needs root"
    # Debian installs the daemons where an unprivileged PATH does not look.
    missing = [program for program in _PROGRAMS if shutil.which(program, path="/usr/sbin:/usr/bin") is None]
    return f"not installed: {', '.join(missing)}" if missing else hosts.why_not(user=False)


class SlurmTest(cluster.Test):
    """A test with a cluster of NODES nodes."""

    NODES = 2
    GPUS = {}  # Number of GPUs by node, for Slurm; they are not real.

    def setUp(self):
        if reason := why_not():
            self.skipTest(reason)
        self.hosts = hosts.Hosts(self.NODES, real=True, user=False)
        self.addCleanup(self.hosts.close)
        super().setUp()
        self.env["PATH"] = f"{pathlib.Path(cluster.ACCEL).parent}:/usr/sbin:/usr/bin:/sbin:/bin"
        self.env["SLURM_CONF"] = str(self.path("slurm.conf"))
        names = [f"h{host}" for host in range(1, self.NODES + 1)]
        # A short path, because slurmd has Unix sockets below it, whose paths have at most 107 bytes.
        folder = pathlib.Path(tempfile.mkdtemp(prefix="accel.", dir="/tmp"))
        self.addCleanup(shutil.rmtree, folder)
        for name in ("state", *(f"spool.{name}" for name in names)):
            (folder / name).mkdir()
        nodes = (f"NodeName={name} CPUs={_CPUS} CoresPerSocket={_CPUS} Gres=gpu:{self.GPUS.get(name, 0)}" for name in names)
        self.path("slurm.conf").write_text(_CONFIGURATION.format(folder=folder, nodes="\n".join(nodes)))
        self.path("gres.conf").write_text("".join(self.describe_gpus(folder, *node) for node in self.GPUS.items()))
        self.path("cgroup.conf").write_text("CgroupPlugin=autodetect\nIgnoreSystemd=yes\n")
        self.start_on(1, "slurmctld", "-D", stderr=subprocess.DEVNULL)
        for host, name in enumerate(names, 1):
            self.start_on(host, "slurmd", "-D", "-N", name, stderr=subprocess.DEVNULL)
        cluster.wait_until(self.is_up, 60, "all nodes are idle")

    @staticmethod
    def describe_gpus(folder, name, count):
        """Makes devices that stand for the GPUs of a node. Slurm gives a job their numbers in CUDA_VISIBLE_DEVICES."""
        for gpu in range(count):
            with contextlib.suppress(FileExistsError):
                os.mknod(folder / f"nvidia{gpu}", stat.S_IFCHR | 0o666, _NULL_DEVICE)
        return f"NodeName={name} Name=gpu File={folder}/nvidia[0-{count - 1}]\n"

    def is_up(self):
        return self.finish(self.start_on(1, "sinfo", "--noheader", "--partition=low", "--format=%D %t")).out == f"{self.NODES} idle\n"

    def start_on(self, host, *words, **options):
        return self.start(*self.hosts.inside(host), *words, **options)

    def srun(self, *words, **options):
        """Starts srun on the first host."""
        return self.start_on(1, "srun", *words, **options)
