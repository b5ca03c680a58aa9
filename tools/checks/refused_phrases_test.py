import unittest

from tools.checks.refused_phrases import faults
from tools.checks.tree import Tree

_PAGE = """# Style

Shows: zig zag, tick tock.

## Refused phrases

One a line.

```
\\bzig zag\\b
\\btick tock\\b
^[/#* ]*Ye (the|a)\\b
```

## Words
"""


def found(path, text):
    return faults(Tree({"docs/style.md": _PAGE, path: text}))


class RefusedPhrases(unittest.TestCase):
    def test_comments_literals_and_pages_of_each_language(self):
        for path, text in (("a.cc", "// Runs zig zag.\n"), ("a.h", "int x;  // Ye the node.\n"), ("a.c", "/* A\n zig zag */"),
                           ("a.cc", 'Log("tick" " tock");'), ("a.cc", 'R"(\ntick tock)"'), ("a.py", '"""Runs zig zag."""'),
                           ("a.py", "x = 1  # Runs zig zag."), ("a.py", "x = f'zig zag {y}'"), ("x/a.proto", "// Ye the job.\n"),
                           ("b/BUILD.bazel", "# For it, zig zag.\n"), ("a.bzl", '"tick tock"'), ("a.sh", "# Ye the disk\nx"),
                           ("a.sh", 'echo "runs zig zag"'), ("tools/x", "#!/usr/bin/env bash\n# zig zag\n"),
                           ("docs/a.md", "It runs zig zag.\n")):
            self.assertEqual(len(found(path, text)), 1, (path, text))

    def test_names_the_place_once(self):
        self.assertEqual(found("a.cc", "int x;\n// Runs. It goes tick\n// tock here.\n"), ["a.cc:2: tick tock"])

    def test_each_trailing_comment_is_a_beginning(self):
        self.assertEqual(found("a.h", "int a;  // Ye the first.\nint b;  // Ye the second.\n"),
                         ["a.h:1: Ye the", "a.h:2: Ye the"])

    def test_code_is_not_prose(self):
        for path, text in (("a.cc", "int zig_zag = tick(tock);"), ("a.py", "Ye = the"), ("a.sh", "for zig in zag; do y; done")):
            self.assertEqual(found(path, text), [])

    def test_a_page_without_its_block(self):
        for files in ({}, {"docs/style.md": "# Style\n"}):
            self.assertEqual(faults(Tree(files)), ["docs/style.md: has no block of refused phrases"])


if __name__ == "__main__":
    unittest.main()
