import unittest

from tools.checks.refused_phrases import faults
from tools.checks.tree import Tree

_PAGE = """# Style

Shows: for ever, told to end.

## Refused phrases

One a line.

```
\\bfor ever\\b
\\btold to end\\b
^[/#* ]*Of (the|a)\\b
```

## Words
"""


def found(path, text):
    return faults(Tree({"docs/style.md": _PAGE, path: text}))


class RefusedPhrases(unittest.TestCase):
    def test_comments_literals_and_pages_of_each_language(self):
        for path, text in (("a.cc", "// Runs for ever.\n"), ("a.h", "int x;  // Of the node.\n"), ("a.c", "/* A\n for ever */"),
                           ("a.cc", 'Log("told to" " end");'), ("a.cc", 'R"(\ntold to end)"'), ("a.py", '"""Runs for ever."""'),
                           ("a.py", "x = 1  # Runs for ever."), ("a.py", "x = f'for ever {y}'"), ("a.proto", "// Of the job.\n"),
                           ("b/BUILD.bazel", "# For it, for ever.\n"), ("a.bzl", '"told to end"'), ("a.sh", "# Of the disk\nx"),
                           ("a.sh", 'echo "runs for ever"'), ("tools/x", "#!/usr/bin/env bash\n# for ever\n"),
                           ("docs/a.md", "It runs for ever.\n")):
            self.assertEqual(len(found(path, text)), 1, (path, text))

    def test_names_the_place_once(self):
        self.assertEqual(found("a.cc", "int x;\n// Runs. It is told\n// to end here.\n"), ["a.cc:2: told to end"])

    def test_each_line_beside_code_is_a_beginning(self):
        self.assertEqual(found("a.h", "int a;  // Of the first.\nint b;  // Of the second.\n"),
                         ["a.h:1: Of the", "a.h:2: Of the"])

    def test_code_is_not_prose(self):
        for path, text in (("a.cc", "int for_ever = told(to, end);"), ("a.py", "Of = the"), ("a.sh", "for ever in x; do y; done")):
            self.assertEqual(found(path, text), [])

    def test_a_page_without_its_block(self):
        for files in ({}, {"docs/style.md": "# Style\n"}):
            self.assertEqual(faults(Tree(files)), ["docs/style.md: has no block of refused phrases"])


if __name__ == "__main__":
    unittest.main()
