"""A TCP relay on loopback whose connections a test can cut, or make slow."""

import socket
import threading


class TcpRelay:
    """Forwards connections to `target` (HOST:PORT) while it is up. Not for several threads."""

    def __init__(self, target):
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._lock = threading.Lock()
        self._sockets = set()
        self._up = True
        self._flows = threading.Event()
        self._flows.set()
        self._start(self._accept)

    def cut(self):
        """Resets all connections, and those to come until up()."""
        with self._lock:
            self._up = False
            for each in self._sockets:
                try:
                    each.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # The other side has closed it.

    def up(self):
        with self._lock:
            self._up = True

    def hold(self):
        """Keeps what clients send from now on, until release(). What the target sends arrives."""
        self._flows.clear()

    def release(self):
        self._flows.set()

    def close(self):
        self.cut()
        self.release()
        # A thread that blocks in accept() is not woken by close().
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    @staticmethod
    def _start(function, *arguments):
        threading.Thread(target=function, args=arguments, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self._start(self._serve, near)

    def _serve(self, near):
        try:
            far = socket.create_connection(self._target, timeout=10)
        except OSError:
            near.close()
            return
        far.settimeout(None)
        with self._lock:
            if not self._up:
                near.close()
                far.close()
                return
            self._sockets |= {near, far}
        always = threading.Event()
        always.set()
        back = threading.Thread(target=self._copy, args=(far, near, always), daemon=True)
        back.start()
        self._copy(near, far, self._flows)
        back.join()
        with self._lock:
            self._sockets -= {near, far}
        near.close()
        far.close()

    @staticmethod
    def _copy(source, sink, flows):
        try:
            while data := source.recv(1 << 16):
                flows.wait()
                sink.sendall(data)
        except OSError:
            pass
        for each in (source, sink):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
