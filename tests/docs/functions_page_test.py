"""Runs the two programs of docs/functions.md."""

import pathlib
import re
import unittest

from tests.docs import pages
from tests.e2e import cluster

_EXAMPLE = "examples/launch_function.cc"


def block(language):
    """Returns the only block of the page in this language."""
    [text] = re.findall(rf"^```{language}\n(.*?)^```$", (pages.ROOT / "docs/functions.md").read_text(), re.M | re.S)
    return text


class FunctionsPage(cluster.Test):
    def setUp(self):
        super().setUp()
        programs = pathlib.Path(cluster.ACCEL).parent
        self.env.update({"PATH": f"{programs}:{self.env['PATH']}", "CUDA_VISIBLE_DEVICES": ""})

    def test_python(self):
        self.env["PYTHONPATH"] = cluster.runfile("python")
        result = self.run_command(cluster.PYTHON, self.python(block("python")))
        self.assertEqual((result.code, result.out), (0, "[1.5, 1.5]\n"), result)

    def test_cpp(self):
        self.assertEqual(block("cpp"), (pages.ROOT / _EXAMPLE).read_text())
        result = self.run_command(cluster.runfile("examples/launch_function"))
        self.assertEqual((result.code, result.out), (0, "1.5\n1.5\n"), result)


if __name__ == "__main__":
    unittest.main()
