"""A TCP relay on loopback with the delays that TCP shows its users on a slow and lossy path.

TCP hides a lost segment: it sends the segment again after its retransmission timeout (RTO), and everything behind it
waits. So a loss is a pause of the whole direction, and a second loss of the same segment a pause of twice the RTO more.
"""

import collections
import threading
import time

from tests.e2e.tcp_relay import TcpRelay

_SEGMENT = 1448  # Bytes in a segment of Ethernet.
_SYN_RTO = 1.0  # RFC 6298, for the first segment of a connection.


class LossyRelay(TcpRelay):
    """Every `each`-th segment is lost, and every fifth of those twice. `segments` and `lost` count them."""

    def __init__(self, target, round_trip, each):
        self._one_way = round_trip / 2
        self._rto = round_trip + max(0.2, round_trip)  # The smoothed round trip and Linux's least variation.
        self._each = each
        self._count = threading.Lock()
        self.segments = self.lost = 0
        super().__init__(target)

    def _losses(self):
        """Counts a segment. Returns how many times it is lost."""
        with self._count:
            self.segments += 1
            if self.segments % self._each:
                return 0
            self.lost += 1
            return 1 if self.lost % 5 else 2

    def _serve(self, near):
        # The far side is connected after the handshake of the near one.
        time.sleep(self._one_way * 2 + self._losses() * _SYN_RTO)
        super()._serve(near)

    def _copy(self, source, sink, flows):
        on_the_way = collections.deque()
        arrived = threading.Condition()
        reader = threading.Thread(target=self._read, args=(source, on_the_way, arrived), daemon=True)
        reader.start()
        super()._copy(_Delayed(source, on_the_way, arrived), sink, flows)
        reader.join()

    def _read(self, source, on_the_way, arrived):
        free_at = 0.0  # Nothing arrives before what was sent earlier.
        while True:
            try:
                data = source.recv(1 << 16)
            except OSError:
                data = b""
            pause = 0.0
            for _ in range(-(-len(data) // _SEGMENT)):
                losses = self._losses()
                pause += self._rto * (2 ** losses - 1)
            free_at = max(free_at, time.monotonic() + self._one_way) + pause
            with arrived:
                on_the_way.append((free_at, data))
                arrived.notify()
            if not data:
                return


class _Delayed:
    """The receiving side of a socket, whose data arrives late."""

    def __init__(self, source, on_the_way, arrived):
        self._source, self._on_the_way, self._arrived = source, on_the_way, arrived
        self.shutdown = source.shutdown

    def recv(self, _):
        with self._arrived:
            self._arrived.wait_for(lambda: self._on_the_way)
            due, data = self._on_the_way.popleft()
        time.sleep(max(0.0, due - time.monotonic()))
        return data
