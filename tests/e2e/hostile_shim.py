#!/usr/bin/python3
"""A shim in whose process its user has a say: it passes on everything between the agent and the real shim, until the file
`attack` beside it names what it sends to the agent instead.

The test copies it to where an agent looks for its shim, with the real one beside it as `real-shim`. Jobs of users other than
the one named in the file `attacker` have the real shim alone.
"""

import os
import pathlib
import selectors
import signal
import socket
import sys

HERE = pathlib.Path(sys.argv[0]).parent
SHIM_SOCKET = 3  # As in shim/shim_program.h.
REPORT, REFUSAL = 4, 6  # As in shim/core/codec.h.
ENDED = 3  # As in shim/core/messages.h.


def frame(kind, payload, size=None):
    return b"AS\x03" + bytes([kind]) + (len(payload) if size is None else size).to_bytes(4, "little") + payload


def text(said):
    return len(said).to_bytes(4, "little") + said


def with_state(report, state):
    """Returns the frame of a report with another state, which follows the id of the job and the number of the generation."""
    at = 8 + 4 + int.from_bytes(report[8:12], "little") + 4
    return report[:at] + bytes([state]) + report[at + 1:]


def last_report(data, before):
    """Returns the last report in the data, which are whole frames because those of a shim are short."""
    while data:
        size = 8 + int.from_bytes(data[4:8], "little")
        if data[3] == REPORT:
            before = data[:size]
        data = data[size:]
    return before


def run(attack, agent, listener, report):
    """Sends what the test asks for, until the agent closes the connection, and then waits for the end."""
    (HERE / "attacking").touch()
    once = {"garbage": b"GET / HTTP/1.1\r\n\r\n" * 1000, "oversized": frame(REPORT, b"", size=0xFFFFFFFF),
            "malformed": frame(REPORT, b"\xff" * 100), "truncated": frame(REPORT, b"abc", size=1000), "closed": b""}
    again = {"refusals": frame(REFUSAL, text(b"no\n" * 100)) * 50, "reports": report * 50,
             "ends": (with_state(report, ENDED) + report) * 50}
    try:
        agent.sendall(once.get(attack, b""))
        while attack in again:
            agent.sendall(again[attack])
    except OSError:
        pass
    while attack == "closed":
        agent.close()
        agent = listener.accept()[0]
    while True:
        signal.pause()


def pass_on(listener, inner):
    """Connects each agent that comes with the real shim."""
    agent = listener.accept()[0]
    if (HERE / "attack").exists():
        run((HERE / "attack").read_text(), agent, listener, b"")
    shim = socket.socket(socket.AF_UNIX)
    shim.connect(inner)
    report = b""
    selector = selectors.DefaultSelector()
    selector.register(agent, selectors.EVENT_READ)
    selector.register(shim, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select(0.02):
            if key.fileobj is agent:
                data, descriptors, _, _ = socket.recv_fds(agent, 1 << 20, 4)
                socket.send_fds(shim, [data], descriptors)
                for descriptor in descriptors:
                    os.close(descriptor)
            else:
                data = shim.recv(1 << 20)
                agent.sendall(data)
                report = last_report(data, report)
            if not data:
                sys.exit()
        if report and (HERE / "attack").exists():
            run((HERE / "attack").read_text(), agent, listener, report)


def main():
    real = str(HERE / "real-shim")
    if os.getuid() != int((HERE / "attacker").read_text()):
        os.execv(real, sys.argv)
    inner = str(HERE / f"inner-{os.getpid()}")
    listener = socket.socket(fileno=os.dup(SHIM_SOCKET))
    listener.setblocking(True)
    server = socket.socket(socket.AF_UNIX)
    server.bind(inner)
    server.listen()
    # The process that the agent knows is the real shim's.
    if os.fork() == 0:
        os.close(SHIM_SOCKET)
        pass_on(listener, inner)
    server.setblocking(False)
    os.dup2(server.fileno(), SHIM_SOCKET)
    os.execv(real, sys.argv)


main()
