import unittest

from tools.checks.long_files import notes
from tools.checks.tree import Tree


class LongFiles(unittest.TestCase):
    def test_the_longest_first(self):
        self.assertEqual(notes(Tree({"a.cc": "\n" * 350, "b.h": "\n" * 349, "c.py": "\n" * 390, "d.json": "\n" * 900})),
                         ["390 c.py", "350 a.cc"])


if __name__ == "__main__":
    unittest.main()
