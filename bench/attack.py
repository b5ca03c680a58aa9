"""Measures what strangers who flood the coordinator's TCP port cost an honest caller and the coordinator: idle
connections, halves of a first record, connections that never make a call, and a flood of short connections."""

import multiprocessing
import resource
import selectors
import socket
import ssl
import statistics
import time

from bench import harness

CONNECTIONS = 4000
SECONDS = 10
SOURCES = 60


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
# What a stranger sends once he is connected, and whether he then closes the connection himself.
ATTACKS = {"idle": (b"", False), "half_records": (HELLO[:6], False), "stalled": (HELLO, False), "flood": (HELLO, True)}


def attack(pairs):
    return [_attack(name, sources, pairs) for name in ATTACKS for sources in (1, SOURCES)]


def _attack(name, sources, pairs):
    bench = harness.Benchmark(f"{CONNECTIONS} strangers, {name}, from {sources} addresses: an honest call meanwhile",
                              "s, s, s, s, MB", "<= 5 times slower, < 100 MB more")
    for _ in range(pairs):
        with harness.Cluster(tcp=True) as cluster:
            pid = cluster.coordinator_pid
            calm = _calls(cluster)
            before = harness.resident_mb(pid)[0]
            stop = multiprocessing.Event()
            ready = multiprocessing.Event()
            strangers = multiprocessing.Process(target=_strangers, args=(cluster.tcp, name, sources, ready, stop))
            strangers.start()
            try:
                if not ready.wait(60):
                    raise RuntimeError("the strangers did not connect")
                attacked = _calls(cluster)
                more = harness.resident_mb(pid)[0] - before
            finally:
                stop.set()
                strangers.join()
            bench.add(calm=statistics.median(calm), attacked=statistics.median(attacked), calm_p99=_p99(calm),
                      attacked_p99=_p99(attacked), megabytes=more)
    return bench.summary()


def _p99(values):
    return sorted(values)[int(len(values) * 0.99)]


def _calls(cluster):
    """Returns the seconds of calls over TCP, one after another, for SECONDS."""
    seconds = []
    begin = time.monotonic()
    while time.monotonic() - begin < SECONDS:
        seconds.append(harness.wall([harness.ACCEL, "nodes", "--coordinator", cluster.tcp], cluster.env)[0])
    return seconds


class _Stranger:
    """One connection at a time, which is opened again when it ends."""

    def __init__(self, number, address, sources, name, selector):
        self._source = f"127.0.{1 + number % sources // 250}.{1 + number % sources % 250}"
        self._address = address
        self._bytes, self._closes = ATTACKS[name]
        self._selector = selector
        self.connect()

    def connect(self):
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # Leaves no TIME_WAIT.
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


def _strangers(tcp, name, sources, ready, stop):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    host, _, port = tcp.rpartition(":")
    selector = selectors.DefaultSelector()
    for number in range(CONNECTIONS):
        _Stranger(number, (host, int(port)), sources, name, selector)
    ready.set()
    while not stop.is_set():
        for key, events in selector.select(0.1):
            key.data.act(events)
