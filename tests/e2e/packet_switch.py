"""An Ethernet switch in user space, which can delay, lose, repeat and reorder frames. Most kernels have no means for all
of these. It runs in the network namespace of its ports:

  packet_switch.py PORT...

It reads one command per line, answers each with "ok", and exits at the end of its input:

  cut FROM TO         frames from port FROM to port TO are lost, and no sender gets a reply
  heal                ends every cut
  link [KEY=VALUE..]  what each frame between two ports suffers: delay and jitter in seconds, loss and repeat as
                      probabilities, rate in bits per second and port. A key that is not given is 0: no such fault.
"""

import heapq
import random
import selectors
import socket
import sys
import time

# From <linux/if_packet.h> and <linux/if_ether.h>.
_SOL_PACKET, _PACKET_VNET_HDR, _PACKET_IGNORE_OUTGOING, _ETH_P_ALL = 263, 15, 23, 3
_OFFLOAD = 10  # Bytes of the header with which a frame keeps its offloads: it may be large and lack a checksum.
_MOST_QUEUED = 0.5  # Seconds that a frame waits for a slow port. Later frames are lost, as in any router.


class Paths:
    """Decides when a frame leaves, if it does."""

    def __init__(self, dice):
        self._dice = dice
        self._cuts = set()
        self._free_at = {}  # When the last frame has left, by port.
        self.link()

    def cut(self, source, target):
        self._cuts.add((source, target))

    def heal(self):
        self._cuts.clear()

    def link(self, delay=0.0, jitter=0.0, loss=0.0, repeat=0.0, rate=0.0):
        self._delay, self._jitter, self._loss, self._repeat, self._rate = delay, jitter, loss, repeat, rate

    def times(self, source, target, size, now):
        """Returns the times at which a frame of this many bytes leaves: none, one, or two if it is repeated."""
        if (source, target) in self._cuts or self._dice.random() < self._loss:
            return []
        copies = 2 if self._dice.random() < self._repeat else 1
        return [at for at in (self._time(target, size, now) for _ in range(copies)) if at is not None]

    def _time(self, target, size, now):
        if self._rate:
            free_at = max(now, self._free_at.get(target, now))
            if free_at - now > _MOST_QUEUED:
                return None
            now = self._free_at[target] = free_at + 8 * size / self._rate
        return now + self._delay + self._dice.random() * self._jitter


class Switch:
    """Moves frames between its ports, as a switch that learns which station is where."""

    def __init__(self, names):
        self.paths = Paths(random.Random())
        self.ports = {name: self._open(name) for name in names}
        self._stations = {}  # The port of each station, by its address.
        self._due = []  # A heap of (time, number, port, frame).
        self._count = 0

    @staticmethod
    def _open(name):
        port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        port.setsockopt(_SOL_PACKET, _PACKET_VNET_HDR, 1)
        port.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
        port.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        port.bind((name, _ETH_P_ALL))
        port.setblocking(False)
        return port

    def receive(self, source):
        """Takes all frames that have arrived at a port."""
        while True:
            try:
                frame = self.ports[source].recv(1 << 17)
            except BlockingIOError:
                return
            to, sender = frame[_OFFLOAD:_OFFLOAD + 6], frame[_OFFLOAD + 6:_OFFLOAD + 12]
            self._stations[sender] = source
            known = self._stations.get(to)
            for target in [known] if known else self.ports:
                if target != source:
                    for at in self.paths.times(source, target, len(frame) - _OFFLOAD, time.monotonic()):
                        self._count += 1
                        heapq.heappush(self._due, (at, self._count, target, frame))

    def send_due(self):
        """Sends what is due. Returns the seconds until the next frame is, or None if none waits."""
        while self._due:
            at, _, target, frame = self._due[0]
            now = time.monotonic()
            if at > now:
                return at - now
            heapq.heappop(self._due)
            try:
                self.ports[target].send(frame)
            except OSError:
                pass  # The port is down, or its queue is full, so the frame is lost.
        return None


def obey(paths, command):
    word, *values = command.split()
    if word == "link":
        paths.link(**{key: float(value) for key, _, value in (each.partition("=") for each in values)})
    else:
        {"cut": paths.cut, "heal": paths.heal}[word](*values)


def main(names):
    switch = Switch(names)
    ready = selectors.DefaultSelector()
    ready.register(sys.stdin, selectors.EVENT_READ)
    for name, port in switch.ports.items():
        ready.register(port, selectors.EVENT_READ, name)
    print("ok", flush=True)
    wait = None
    while True:
        for key, _ in ready.select(wait):
            if key.data:
                switch.receive(key.data)
                continue
            command = sys.stdin.readline()
            if not command:
                return
            obey(switch.paths, command)
            print("ok", flush=True)
        wait = switch.send_due()


if __name__ == "__main__":
    main(sys.argv[1:])
