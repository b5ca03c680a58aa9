"""Hosts on one machine (docs/decisions/0047): a network namespace for each, joined by a switch of ours
(tests/e2e/packet_switch.py).

The hosts have the addresses 127.77.0.1, 127.77.0.2, ... on a real interface. Outside of the namespaces these lead nowhere
but to this machine, so a command that is not in its namespace reaches no stranger. Everything is made in a user namespace,
so no privilege is needed, nothing outside of it changes, and the kernel removes it with its last process.

With `real=True` the hosts have the addresses 10.77.0.1, ... and fd77::1, ... instead, and the names h1, ... Each name is
127.0.1.1 in the host's own /etc/hosts, as Debian writes it, and the other names are real addresses. The name `all` has
the address of each host, on each host in another order, and `both` has both addresses of h1. With `ipv4=False` as well,
the hosts have IPv4 on their loopback interfaces only.

With `user=False` there is no user namespace, for programs that need a real root. Then the caller must be root.

The hosts share the file system, the process ids and the boot id of the machine.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

_SWITCH = str(pathlib.Path(__file__).with_name("packet_switch.py"))
# Only 127.0.0.1 itself remains on the loopback interface. The addresses of the hosts must leave through eth0.
_SET_UP = """set -e
ip link set lo up
ip addr add 127.0.0.1/32 dev lo
ip addr del 127.0.0.1/8 dev lo
echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet
ip addr add {address}/24 dev eth0
ip link set eth0 up
"""
_SET_UP_REAL = """set -e
hostname {name}
mount --bind {names} /etc/hosts
ip link set lo up
{ipv4}
ip addr add {address6}/64 dev eth0 nodad || true
ip link set eth0 up
"""
# A namespace lives as long as this process, which ends with the test.
_HOLD = ("sh", "-c", "echo ok; exec cat")
_USER = ("--user", "--map-root-user")


def why_not(*, user=True):
    """Returns why this machine can have no such hosts, or None. A missing program is no such reason, but a failure. Fails if
    root can make network namespaces here, and only the user namespaces around them are refused, because the tests of hosts
    would then be skipped on a machine that could run them."""
    done = _unshare(*(_USER if user else ()), "--net")
    if done.returncode == 0:
        return None
    why = done.stderr.decode().strip()
    if user and os.geteuid() == 0 and _unshare("--net").returncode == 0:
        raise AssertionError(f"this machine has network namespaces, but tests cannot use them without user namespaces: {why}")
    return f"no network namespaces here: {why}"


def _unshare(*kinds):
    return subprocess.run(["unshare", *kinds, "true"], capture_output=True)


class Hosts:
    """Makes hosts 1 to `count`. close() ends the switch and the processes that hold the namespaces."""

    def __init__(self, count, real=False, user=True, ipv4=True):
        self._processes = []
        self._user = user
        self._real = real
        self._ipv4 = ipv4
        self._files = tempfile.TemporaryDirectory()
        kinds = ("--net", "--uts", "--mount") if real else ("--net",)
        try:
            self._outer = self._start("unshare", *(_USER if user else ()), "--net", *_HOLD)
            self._inner = {host: self._start(*self._enter(self._outer), "unshare", *kinds, *_HOLD)
                           for host in range(1, count + 1)}
            for host, process in self._inner.items():
                self._check(self._outer, f"ip link add p{host} type veth peer name eth0 netns {process.pid}\nip link set p{host} up")
                self._check(process, self._set_up(host, count), inside_mounts=real)
            self._switch = self._start(*self._enter(self._outer), sys.executable, _SWITCH, *(f"p{host}" for host in self._inner))
        except BaseException:
            self.close()
            raise

    def address(self, host):
        return f"10.77.0.{host}" if self._real else f"127.77.0.{host}"

    @staticmethod
    def address6(host):
        """The IPv6 address of a real host."""
        return f"fd77::{host}"

    def inside(self, host):
        """Returns the command that executes the words after it on a host. It is replaced by them, so its pid is theirs."""
        return self._enter(self._inner[host], inside_mounts=self._real)

    def _set_up(self, host, count):
        if not self._real:
            return _SET_UP.format(address=self.address(host))
        lines = ["127.0.0.1 localhost", "::1 localhost", f"127.0.1.1 h{host}"]
        address = self.address if self._ipv4 else self.address6
        lines += [f"{address(other)} h{other}" for other in range(1, count + 1) if other != host]
        order = [(host + step - 1) % count + 1 for step in range(count)]
        lines += [f"{address(other)} all" for other in order]
        lines += [f"{address(1)} both", f"{self.address6(1)} both"]
        names = pathlib.Path(self._files.name) / f"hosts{host}"
        names.write_text("\n".join(lines) + "\n")
        ipv4 = f"ip addr add {self.address(host)}/24 dev eth0" if self._ipv4 else ""
        return _SET_UP_REAL.format(name=f"h{host}", names=names, ipv4=ipv4, address6=self.address6(host))

    def cut(self, *between):
        """No frame passes between this host and any other, or, if two hosts are given, from the first to the second."""
        if len(between) == 2:
            self._command(f"cut p{between[0]} p{between[1]}")
            return
        for other in self._inner:
            self._command(f"cut p{between[0]} p{other}")
            self._command(f"cut p{other} p{between[0]}")

    def heal(self):
        self._command("heal")

    def link(self, **properties):
        """See packet_switch.py. Without arguments, nothing happens to the frames."""
        self._command("link " + " ".join(f"{key}={value}" for key, value in properties.items()))

    def close(self):
        for process in reversed(self._processes):
            process.stdin.close()
            process.wait(60)
            process.stdout.close()
        self._files.cleanup()

    def _enter(self, process, inside_mounts=False):
        # Entering mounts changes the working directory, unless it is named.
        mounts = ["--uts", "--mount", "--wd=."] if inside_mounts else []
        return ["nsenter", "--target", str(process.pid), *(("--user", "--preserve-credentials") if self._user else ()), "--net",
                *mounts]

    def _start(self, *command):
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._processes.append(process)
        self._await_ok(process)
        return process

    def _command(self, line):
        self._switch.stdin.write(line.encode() + b"\n")
        self._switch.stdin.flush()
        self._await_ok(self._switch)

    @staticmethod
    def _await_ok(process):
        line = process.stdout.readline()
        if line != b"ok\n":
            raise AssertionError(f"{process.args} printed {line!r}")

    def _check(self, process, script, inside_mounts=False):
        subprocess.run([*self._enter(process, inside_mounts), "sh", "-c", script], check=True)
