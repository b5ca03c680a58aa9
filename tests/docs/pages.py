"""Reads the documentation as data: pages, the commands in them, tables."""

import os
import pathlib
import re

# The checkout. The runfiles of a page are links into it.
ROOT = pathlib.Path(os.path.realpath(pathlib.Path(os.environ["TEST_SRCDIR"]) / "accel/README.md")).parent

_RUN = r"(?:[A-Z_]+=\S+ )*(?:accel |accel-coordinator |accel-agent |accel-shim |bazel-bin/)"
_LOOKED_AT = r"(?:bazel |tools/|bench/run|\.ci/run)"


def pages():
    """Returns every page, by its path from the root."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    return {str(page.relative_to(ROOT)): page.read_text() for page in sorted(found)}


class Command:
    """One line of a block of commands. `exit_code` is the code in its comment ("exits with 2"), or 0."""

    def __init__(self, page, line, text):
        self.where = f"{page}:{line}"
        command, _, comment = text.partition(" # ")
        self.text = command.strip()
        said = re.search(r"exits with (\d+)", comment)
        self.exit_code = int(said.group(1)) if said else 0

    @property
    def is_run(self):
        return re.match(_RUN, self.text) is not None

    @property
    def is_known(self):
        return self.is_run or re.match(_LOOKED_AT, self.text) is not None


def commands(name, text):
    """Returns the commands of a page: every line of an indented block, and each line of a fenced block that
    begins like one."""
    found, fence = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fence = not fence
        elif fence and not line.startswith(" "):  # Diagrams are indented.
            command = Command(name, number, line)
            if command.is_known:
                found.append(command)
        elif not fence and line.startswith("    "):
            found.append(Command(name, number, line))
    return found


def table(text, title):
    """Returns the rows below the first table line whose first cell is `title`, as lists of cells without backticks."""
    rows, inside = [], False
    for line in text.splitlines():
        cells = [cell.strip().replace("`", "") for cell in line.strip("|").split(" | ")] if line.startswith("|") else None
        if cells and cells[0].strip() == title:
            inside = True
        elif inside and not cells:
            break
        elif inside and not cells[0].startswith("---"):
            rows.append(cells)
    return rows
