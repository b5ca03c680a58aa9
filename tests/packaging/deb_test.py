"""The Debian package: what is in it, and that it works in a root that has only glibc and a shell besides it."""

import gzip
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from tests.e2e import cluster

DEB = cluster.runfile("packaging/accel.deb")
PROGRAMS = ("accel", "accel-agent", "accel-coordinator", "accel-shim")
CAN_UNSHARE = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "true"], capture_output=True).returncode == 0


class Deb(cluster.Test):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.unpacked = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.unpacked.cleanup)
        subprocess.run(["dpkg-deb", "-x", DEB, cls.unpacked.name], check=True)

    def setUp(self):
        super().setUp()
        self.root = self.path("root")  # Some tests write into it.
        shutil.copytree(self.unpacked.name, self.root, symlinks=True)

    def output(self, *command, **options):
        result = self.run_command(*command, **options)
        self.assertEqual(result.code, 0, result)
        return result.out

    def test_it_depends_on_glibc_alone(self):
        fields = self.output("dpkg-deb", "-f", DEB)
        self.assertRegex(fields, r"(?m)^Package: accel$")
        self.assertRegex(fields, r"(?m)^Version: \d+\.\d+\.\d+$")
        self.assertRegex(fields, r"(?m)^Depends: libc6 \(>= 2\.\d+\), adduser$")
        for program in PROGRAMS:
            needed = re.findall(r"NEEDED +(\S+)", self.output("objdump", "-p", self.root / "usr/bin" / program))
            self.assertLessEqual(set(needed), {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1",
                                               "libresolv.so.2", "ld-linux-x86-64.so.2"}, program)

    def test_every_program_and_command_has_a_manual_page(self):
        pages = {page.name for page in (self.root / "usr/share/man").rglob("*.gz")}
        for page in ("accel.1.gz", "accel-launch.1.gz", "accel-config-explain.1.gz", "accel-completion.1.gz",
                     "accel-agent.8.gz", "accel-coordinator.8.gz", "accel-shim.8.gz"):
            self.assertIn(page, pages)
        for page in (self.root / "usr/share/man").rglob("*.gz"):
            self.assertTrue(gzip.decompress(page.read_bytes()).startswith(b".TH "), page)

    def test_each_shell_finds_its_completion(self):
        for path, text in (("bash-completion/completions/accel", "complete -F"), ("zsh/vendor-completions/_accel", "#compdef accel"),
                           ("fish/vendor_completions.d/accel.fish", "complete -c accel")):
            self.assertIn(text, (self.root / "usr/share" / path).read_text())

    @unittest.skipIf(shutil.which("systemd-analyze") is None, "systemd is not installed")
    def test_the_units_are_valid_and_hardened(self):
        for name, most in (("accel-coordinator", 25), ("accel-agent", 80)):
            unit = self.root / f"lib/systemd/system/{name}.service"
            # The programs are looked for where the package puts them.
            here = unit.with_name(unit.name)
            here.write_text(unit.read_text().replace("/usr/bin/", f"{self.root}/usr/bin/").replace("User=accel\n", ""))
            checked = self.run_command("systemd-analyze", "verify", "--man=no", here)
            # systemd knows DelegateSubgroup= since version 254.
            said = [line for line in checked.err.splitlines() if "Unknown key 'DelegateSubgroup'" not in line]
            self.assertEqual((checked.code, said), (0, []), checked)
            scored = self.run_command("systemd-analyze", "security", "--offline=true", f"--threshold={most}", here)
            self.assertEqual(scored.code, 0, scored.out[-2000:])

    def test_the_agents_unit_lets_workers_survive_a_restart(self):
        unit = (self.root / "lib/systemd/system/accel-agent.service").read_text()
        for line in ("Type=notify", "KillMode=process", "Delegate=yes", "OOMPolicy=continue"):
            self.assertIn(f"\n{line}\n", unit)
        self.assertNotRegex(unit, r"(?m)^PrivateTmp=")

    def test_no_unit_owns_the_state_of_the_other(self):
        """At its start a unit gives its folder, with all in it, to its user, and the agent's may be root."""
        folders = []
        for name in ("accel-agent", "accel-coordinator"):
            unit = (self.root / f"lib/systemd/system/{name}.service").read_text()
            own = re.search(r"(?m)^StateDirectory=(.*)$", unit)[1].split()
            self.assertIn(f"--state_dir /var/lib/{own[0]} ", unit)
            folders.append({pathlib.PurePath(folder).parts[0] for folder in own})
        self.assertFalse(folders[0] & folders[1])

    def test_the_same_inputs_give_the_same_package(self):
        again = self.path("again.deb")
        make = cluster.runfile("packaging/make_deb")
        binaries = [cluster.AGENT, cluster.COORDINATOR, cluster.SHIM]
        self.output(make, again, cluster.runfile("packaging"), cluster.ACCEL, *binaries, cwd=cluster.runfile("."), seconds=120)
        self.assertEqual(again.read_bytes(), pathlib.Path(DEB).read_bytes())

    @unittest.skipUnless(CAN_UNSHARE, "no user namespaces")
    def test_it_works_in_a_clean_root(self):
        self.add_shell_and_glibc()
        script = self.root / "run"
        script.write_text("#!/bin/sh\nset -e\naccel --version\naccel env\n"
                          "accel launch --cpu --num_processes 2 /bin/sh -c 'echo rank $RANK of $WORLD_SIZE'\n")
        script.chmod(0o755)
        (self.root / "proc").mkdir(exist_ok=True)
        for folder in ("tmp", "dev", "root"):
            (self.root / folder).mkdir(exist_ok=True)
        inside = (f"mount --rbind /proc {self.root}/proc && mount --rbind /dev {self.root}/dev && "
                  f"exec chroot {self.root} /run")
        self.env.pop("ACCEL_SHIM")
        out = self.output("unshare", "--user", "--map-root-user", "--mount", "/bin/sh", "-c", inside,
                          env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root", "TMPDIR": "/tmp"})
        self.assertRegex(out, r"^accel \d")
        self.assertEqual(set(re.findall(r"rank \d of \d", out)), {"rank 0 of 2", "rank 1 of 2"}, out)

    def add_shell_and_glibc(self):
        """Copies a shell and the libraries that it and the programs need."""
        wanted = {os.path.realpath("/bin/sh"): "bin/sh"}
        for program in ["/bin/sh", *(self.root / "usr/bin" / program for program in PROGRAMS)]:
            for path in re.findall(r"(/\S+) \(0x", self.run_command("ldd", program).out):
                wanted[os.path.realpath(path)] = path.lstrip("/")
        for source, place in wanted.items():
            (self.root / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, self.root / place)


if __name__ == "__main__":
    cluster.main()
