"""Checks commits: the subject has at most 72 characters and says what is now true, and the body says why."""

import re
import subprocess
from typing import NamedTuple

# The last commit that was made before this rule.
BEGINS_AFTER = "4655dde"
TITLE = "a commit without a short subject, or without a body that says why"

_NO_SUBJECT = re.compile(r"(.*: *)?(wip|format|fixup|squash|so far|fix|misc)\b[!.]?.{0,8}\Z|(fixup|squash|amend)!", re.I)


class Commit(NamedTuple):
    id: str
    subject: str
    body: str


def commits(folder="."):
    """Returns the commits after BEGINS_AFTER, newest first, without merges. Returns nothing in a clone that does
    not contain BEGINS_AFTER."""
    known = subprocess.run(["git", "merge-base", "--is-ancestor", BEGINS_AFTER, "HEAD"], cwd=folder, capture_output=True)
    if known.returncode != 0:
        return []
    log = subprocess.run(["git", "log", "--no-merges", "--format=%h%x00%s%x00%b%x01", f"{BEGINS_AFTER}..HEAD"],
                         cwd=folder, check=True, capture_output=True, text=True).stdout
    return [Commit(*entry.strip("\n").split("\0")) for entry in log.split("\1") if entry.strip("\n")]


def faults(log):
    found = []
    for commit in log:
        what = f"{commit.id} {commit.subject}"
        if len(commit.subject) > 72:
            found.append(f"{what}: {len(commit.subject)} characters")
        if _NO_SUBJECT.match(commit.subject):
            found.append(f"{what}: does not say what is now true")
        if not commit.body.strip():
            found.append(f"{what}: no body")
    return found
