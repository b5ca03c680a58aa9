"""Checks that docs/migrating.md shows the C++ that migrating_test.cc compiles and runs, and every name
of both Accelerators."""

import ast
import os
import pathlib
import re
import textwrap
import unittest

from tests.docs import pages

_PAGE = "docs/migrating.md"
_SOURCE = "tests/docs/migrating_test.cc"
_HEADER = "accel/accelerator.h"
_OPTIONS = "accel/options.h"


def blocks(text, language):
    return [block.strip("\n") for block in re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)]


def regions(source):
    """Returns the text between `// [section: variant]` and `// [end]`, by name. Regions with the same name are joined."""
    found = {}
    for name, body in re.findall(r"^ *// \[([^\]]+: [^\]]+)\]\n(.*?)^ *// \[end\]$", source, re.M | re.S):
        found.setdefault(name, []).append(textwrap.dedent(body).strip("\n"))
    return {name: "\n".join(bodies) for name, bodies in found.items()}


def python_accelerator():
    """Returns the AST of the class in the installed package."""
    python = os.environ.get("ACCEL_PYTHON") or pathlib.Path(os.environ.get("ACCEL_TEST_HOME", "/root"), ".cache/accel/venv/bin/python")
    [file] = pathlib.Path(python).parent.parent.glob("lib/python3*/site-packages/accelerate/accelerator.py")
    return next(node for node in ast.parse(file.read_text()).body
                if isinstance(node, ast.ClassDef) and node.name == "Accelerator")


def read(path):
    return (pages.ROOT / path).read_text()


def methods(header, name):
    """Returns the public methods that a class of a header declares."""
    body = re.search(rf"^class {name}\b[^;]*?{{\n public:\n(.*?)^(?: protected:| private:|}};)", header, re.M | re.S).group(1)
    body = re.sub(r"//.*", "", body)
    body = re.sub(r"requires\(.*?\) (?=auto)", "", body, flags=re.S)
    return set(re.findall(r"^  (?! |template|explicit)(?:[\w:<>&*,\[\] ]+ )?\**(\w+)\(", body, re.M)) - {name}


def fields(header, name):
    body = re.search(rf"^struct {name} {{\n(.*?)^}};", header, re.M | re.S).group(1)
    return set(re.findall(r"^  [\w:<>]+ (\w+)(?: = |;)", body, re.M))


class Migrating(unittest.TestCase):
    def setUp(self):
        self.page = pages.pages()[_PAGE]

    def names(self, title):
        """Returns the names in the first and second column of the table, one list per cell."""
        rows = pages.table(self.page, title)
        self.assertGreater(len(rows), 10)
        return [[set(re.findall(r"\w+(?:\.\w+)*", cell)) for cell in row[:2]] for row in rows]

    def test_the_cpp_is_what_is_compiled_and_run(self):
        compiled = regions(read(_SOURCE))
        shown = blocks(self.page, "cpp")
        self.assertGreater(len(shown), 10)
        self.assertEqual(sorted(shown), sorted(compiled.values()))

    def test_the_python_is_python(self):
        shown = blocks(self.page, "python")
        self.assertGreater(len(shown), 5)
        for block in shown:
            compile(block, _PAGE, "exec")

    def test_the_table_has_every_member_of_pythons_class(self):
        members = {node.name for node in python_accelerator().body
                   if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")}
        self.assertGreater(len(members), 50)
        rows = self.names("Python")
        self.assertEqual(members, {name for row in rows for name in row[0] if "." not in name})

    def test_the_table_has_every_method_of_the_cpp_class(self):
        declared = methods(read(_HEADER), "Accelerator")
        self.assertGreater(len(declared), 40)
        rows = self.names("Python")
        self.assertEqual(declared, {name for row in rows for name in row[1] if "." not in name})

    def test_the_table_has_every_option(self):
        init = next(node for node in python_accelerator().body
                    if isinstance(node, ast.FunctionDef) and node.name == "__init__")
        rows = self.names("Python option")
        self.assertEqual({argument.arg for argument in init.args.args} - {"self"},
                         {name for row in rows for name in row[0] if "." not in name})
        self.assertEqual(fields(read(_OPTIONS), "AcceleratorOptions"),
                         {name for row in rows for name in row[1] if "." not in name})


if __name__ == "__main__":
    unittest.main(verbosity=2)
