"""A relay at a shim's socket, which makes the shim look like one of another build to the agents that connect."""

import os
import socket
import threading

HEADER = 8  # Bytes: b"AS", the version, the type, the size of the payload. As in shim/channel.h.
NEW_FIELD = b"of a later build"
NEW_TYPE = 99


def of_version_4(kind, payload):
    """Returns the bytes that the agent gets in place of this frame."""
    return _frame(4, kind, payload)


def of_a_later_build(kind, payload):
    """The same, with a frame of an unknown type and a field that was appended."""
    return _frame(3, NEW_TYPE, NEW_FIELD) + _frame(3, kind, payload + NEW_FIELD)


def _frame(version, kind, payload):
    return b"AS" + bytes([version, kind]) + len(payload).to_bytes(4, "little") + payload


class ShimRelay:
    """Takes the place of the socket in the folder of a shim until restore(), and stays a relay until close(). `aside` is a
    folder on the same file system."""

    def __init__(self, folder, aside, rewrite):
        self._rewrite = rewrite
        # Through the descriptor, because the path of a Unix socket has at most 107 bytes.
        self._folder = os.open(folder, os.O_DIRECTORY)
        self._aside = os.open(aside, os.O_DIRECTORY)
        os.rename("sock", "shim-sock", src_dir_fd=self._folder, dst_dir_fd=self._aside)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(f"/proc/self/fd/{self._folder}/sock")
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def restore(self):
        """Gives the shim its socket back."""
        os.rename("shim-sock", "sock", src_dir_fd=self._aside, dst_dir_fd=self._folder)

    def close(self):
        # A thread that blocks in accept() is not woken by close().
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        os.close(self._folder)
        os.close(self._aside)

    def _accept(self):
        while True:
            try:
                agent, _ = self._listener.accept()
            except OSError:
                return
            shim = socket.socket(socket.AF_UNIX)
            try:
                shim.connect(f"/proc/self/fd/{self._aside}/shim-sock")
            except OSError:  # The shim has ended.
                agent.close()
                shim.close()
                continue
            threading.Thread(target=self._serve, args=(agent, shim), daemon=True).start()

    def _serve(self, agent, shim):
        with agent, shim:
            commands = threading.Thread(target=self._copy, args=(agent, shim, False), daemon=True)
            commands.start()
            self._copy(shim, agent, True)
            commands.join()

    def _copy(self, source, target, rewrite):
        frames = b""
        try:
            while data := source.recv(1 << 16):
                if not rewrite:
                    target.sendall(data)
                    continue
                frames += data
                while len(frames) >= HEADER:
                    end = HEADER + int.from_bytes(frames[4:HEADER], "little")
                    if len(frames) < end:
                        break
                    target.sendall(self._rewrite(frames[3], frames[HEADER:end]))
                    frames = frames[end:]
        except OSError:
            pass  # The other side is gone.
        for each in (source, target):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
