"""How programs run as another account than that of a test or a bench, which may be root."""

import os
import subprocess

# Lets an agent that is root run the jobs of root, also if its coordinator is at a port.
AS_ROOT = ("--allow_system_users", "root") if os.geteuid() == 0 else ()

# A command under which a program of root is one of an ordinary user, in a user namespace.
AS_ORDINARY = ("unshare", "--user", "--map-user=1000", "--map-group=1000") if os.geteuid() == 0 else ()


def can_be_ordinary():
    try:
        return subprocess.run([*AS_ORDINARY, "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False
