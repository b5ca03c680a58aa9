"""A cluster whose daemons run on hosts of their own (hosts.py)."""

from tests.e2e import cluster, hosts


class OnHosts(cluster.ClusterTest):
    """The coordinator and all commands run on host 1, and agent n1 on host 2, ..."""

    AGENTS = 2
    REAL = False  # As in hosts.Hosts.

    def setUp(self):
        if reason := hosts.why_not():
            self.skipTest(reason)
        self.hosts = hosts.Hosts(self.AGENTS + 1, real=self.REAL)
        self.addCleanup(self.hosts.close)
        super().setUp()

    def start(self, *command, **options):
        inside = () if command[0] == "nsenter" else self.hosts.inside(1)
        return super().start(*inside, *command, **options)

    def start_coordinator(self, *flags, listen=None, **options):
        super().start_coordinator(*flags, listen=listen or f"{self.hosts.address(1)}:0", **options)

    def start_agent(self, name, under=(), **options):
        return super().start_agent(name, under=[*self.hosts.inside(self.host_of(name)), *under], **options)

    @staticmethod
    def host_of(name):
        return int(name[1:]) + 1
