"""Measures what strangers who flood the coordinator's TCP port cost an honest caller, a job and the coordinator: idle
connections, halves of a first record, connections that never make a call, and a flood of short connections."""

import json
import multiprocessing
import os
import pathlib
import resource
import selectors
import socket
import ssl
import statistics
import tempfile
import time

from bench import harness

CONNECTIONS = 20_000
PROCESSES = 4  # The processes of strangers: several, because one may often have only 20,000 descriptors.
CALM_SECONDS = 10
SECONDS = 60
TICK = 0.05  # Seconds between the lines that the job writes.
SOURCES = 60
TIMES = 5  # An honest call may take this many times as long as without an attack.
P99 = 0.1  # Seconds that the 99th percentile of honest calls may take.
MEGABYTES = 100
# Seconds that the job may pause. Without an attack its longest pause is 0.06 s. Under attack it was 0.14 s, on a
# machine whose processors the strangers used too. A job that waited for the coordinator would pause for some seconds.
PAUSE = 1


def _hello():
    """Returns the first record of a TLS client."""
    sent = ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname="coordinator.accel.internal").do_handshake()
    except ssl.SSLWantReadError:
        pass
    return sent.read()


HELLO = _hello()
# For each attack: the bytes that a stranger sends after it has connected, and whether it then closes the connection.
ATTACKS = {"idle": (b"", False), "half_records": (HELLO[:6], False), "stalled": (HELLO, False), "flood": (HELLO, True)}


def attack(pairs):
    return [_attack(name, sources, pairs) for name in ATTACKS for sources in (1, SOURCES)]


def _attack(name, sources, pairs):
    bench = harness.Benchmark(f"{CONNECTIONS} strangers for {SECONDS} s, {name}, from {sources} addresses: an honest call, and the "
                              f"longest pause of a job that writes every {TICK} s", "s, s, s, s, MB, s, s",
                              f"attacked <= {TIMES} calm, attacked_p99 < {P99} s, < {MEGABYTES} MB more, pause < {PAUSE} s, "
                              "the job undisturbed")
    for _ in range(pairs):
        with tempfile.TemporaryDirectory(prefix="accel-bench-") as folder, harness.Cluster(tcp=True) as cluster:
            ticks = pathlib.Path(folder, "ticks")
            job = harness.wall([harness.ACCEL, "submit", "--cpu", "--", "/bin/sh", "-c",
                                f"while :; do date +%s.%N >> {ticks}; sleep {TICK}; done"], cluster.env)[1].strip()
            try:
                row = _measure(cluster, name, sources, ticks)
                bench.add(**row)
                _expect_undisturbed(cluster, job)
                harness.expect_less(row, attacked=TIMES * row["calm"], attacked_p99=P99, megabytes=MEGABYTES, pause=PAUSE)
            finally:
                harness.wall([harness.ACCEL, "cancel", job], cluster.env)
                deadline = time.monotonic() + 30  # Jobs outlive their agents, so the job must end first.
                while harness.children(cluster.agent_pids[0]) and time.monotonic() < deadline:
                    time.sleep(0.01)
    return bench.summary()


def _measure(cluster, name, sources, ticks):
    """Returns the row of one attack."""
    deadline = time.monotonic() + 60
    while not ticks.exists():
        if time.monotonic() > deadline:
            raise RuntimeError("the job did not start")
        time.sleep(0.01)
    pid = cluster.coordinator_pid
    calm = _calls(cluster, CALM_SECONDS)
    before = harness.resident_mb(pid)[0]
    calm_pause = _longest_pause(ticks, 0)
    begin = time.time()
    stop = multiprocessing.Event()
    ready = [multiprocessing.Event() for _ in range(PROCESSES)]
    strangers = [multiprocessing.Process(target=_strangers, args=(cluster.tcp, name, sources, i, event, stop))
                 for i, event in enumerate(ready)]
    for process in strangers:
        process.start()
    try:
        if not all(event.wait(60) for event in ready):
            raise RuntimeError("the strangers did not connect")
        attacked = _calls(cluster, SECONDS)
        more = harness.resident_mb(pid)[0] - before
    finally:
        stop.set()
        for process in strangers:
            process.join()
    return {"calm": statistics.median(calm), "attacked": statistics.median(attacked), "calm_p99": _p99(calm),
            "attacked_p99": _p99(attacked), "megabytes": more, "calm_pause": calm_pause, "pause": _longest_pause(ticks, begin)}


def _longest_pause(ticks, begin):
    """Returns the most seconds without a line, from `begin` until now."""
    times = [float(line) for line in ticks.read_text().split("\n")[:-1]] + [time.time()]
    return max(later - earlier for earlier, later in zip(times, times[1:]) if later > begin)


def _expect_undisturbed(cluster, job):
    [status] = [each for each in json.loads(harness.wall([harness.ACCEL, "status", "--json"], cluster.env)[1])["jobs"]
                if each["job_id"] == job]
    if status["phase"] != "RUNNING" or len(status["generations"]) != 1:
        raise RuntimeError(f"the job was disturbed: {status.get('reason', 'it is no longer in its first generation')}")


def _p99(values):
    return sorted(values)[int(len(values) * 0.99)]


def _calls(cluster, during):
    """Returns the seconds of calls over TCP, one after another, for `during` seconds."""
    seconds = []
    begin = time.monotonic()
    while time.monotonic() - begin < during:
        seconds.append(harness.wall([harness.ACCEL, "nodes", "--coordinator", cluster.tcp], cluster.env)[0])
    return seconds


class _Stranger:
    """A stranger's connection. It is opened again when it ends."""

    def __init__(self, number, address, sources, name, selector):
        self._source = f"127.0.{1 + number % sources // 250}.{1 + number % sources % 250}"
        self._address = address
        self._bytes, self._closes = ATTACKS[name]
        self._selector = selector
        self.connect()

    def connect(self):
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # Leaves no TIME_WAIT.
        # connect() chooses the port, because bind() searches long for a port that no connection has.
        self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_BIND_ADDRESS_NO_PORT, 1)
        self._socket.setblocking(False)
        self._socket.bind((self._source, 0))
        self._socket.connect_ex(self._address)
        self._selector.register(self._socket, selectors.EVENT_WRITE, self)

    def act(self, events):
        try:
            if events & selectors.EVENT_WRITE:
                self._socket.send(self._bytes)
                self._selector.modify(self._socket, selectors.EVENT_READ, self)
                if not self._closes:
                    return
            elif self._socket.recv(65536):
                return
        except OSError:
            pass  # The coordinator has closed the connection.
        self._selector.unregister(self._socket)
        self._socket.close()
        self.connect()


def _strangers(tcp, name, sources, process, ready, stop):
    os.nice(19)  # Real strangers compute on other machines, and do not take the coordinator's processors.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    host, _, port = tcp.rpartition(":")
    selector = selectors.DefaultSelector()
    for number in range(process, CONNECTIONS, PROCESSES):
        _Stranger(number, (host, int(port)), sources, name, selector)
    ready.set()
    while not stop.is_set():
        for key, events in selector.select(0.1):
            key.data.act(events)
