"""Checks that everything that comments and pages refer to exists in this repository: files, decisions, invariants."""

import re
import unittest

from tests.docs import pages

_C_LIKE = (".h", ".cc", ".c", ".proto")
_HASH_LIKE = (".py", ".bazel", ".bzl", ".sh", ".txt", ".yml", ".yaml")

# Names of documents that readers of this repository do not have.
_OUTSIDE = r"\bfault cases?\b|\bdesign:|\(design\b|\bdesign\.md\b|\bdefect U\d+\b"


def tree():
    """Returns the text of every file of the checkout, by its path from the root."""
    texts = {}
    for top in pages.ROOT.iterdir():
        # Skips Bazel's links, which lead into its output tree.
        if top.is_symlink() or top.name[0] == ".":
            continue
        for path in top.rglob("*") if top.is_dir() else [top]:
            if path.is_file() and not path.is_symlink() and "__pycache__" not in path.parts:
                try:
                    texts[str(path.relative_to(pages.ROOT))] = path.read_text()
                except UnicodeDecodeError:
                    pass
    return texts


def comments(path, text):
    """Returns the comments of a source file, including Python's docstrings, or a whole page."""
    if path.endswith(".md"):
        return text
    if path.endswith(_C_LIKE):
        return "\n".join(re.findall(r"(?<![:\"])//.*", text))
    found = []
    if path.endswith(_HASH_LIKE) or text.startswith("#!"):
        found += re.findall(r"(?:^|\s)#.*", text)
    if path.endswith(".py"):
        found += re.findall(r'"""(.*?)"""', text, re.S)
    return "\n".join(found)


def joined(text):
    """Joins the lines of a comment, so that a reference that spans two lines is found."""
    return re.sub(r"\s*\n\s*(?://|#)?\s*", " ", text)


class References(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.files = tree()
        cls.prose = {path: joined(comments(path, text)) for path, text in cls.files.items()}
        cls.folders = {path.split("/")[0] for path in cls.files if "/" in path}
        cls.decisions = {re.match(r"docs/decisions/(\d{4})-", path).group(1): path for path in cls.files
                         if path.startswith("docs/decisions/")}

    def check(self, pattern, exists, at_least):
        """Checks that each match of `pattern` in the prose leads somewhere, and that there are at least
        this many matches."""
        found = [(path, match) for path, text in self.prose.items() for match in re.findall(pattern, text)]
        self.assertGreaterEqual(len(found), at_least, "the test does not see them")
        self.assertEqual([f"{path}: {match}" for path, match in found if not exists(match, path)], [])

    def test_files_of_the_tree_exist(self):
        def exists(name, path):
            # Pages have placeholders, such as cli/NAME.cc. text_test.py checks what pages quote.
            return path.endswith(".md") or name in self.files or "NAME" in name

        tops = "|".join(sorted(re.escape(folder) for folder in self.folders))
        self.check(rf"(?<![\w./-])(?:{tops})/[\w./-]*\.(?:h|cc|c|py|proto|md|bzl|txt|sh|json)\b", exists, 50)

    def test_files_named_without_their_folder_exist(self):
        bases = {path.rsplit("/", 1)[-1] for path in self.files}
        self.check(r"(?<![\w./<-])\w+\.(?:h|cc|proto|md)\b",
                   lambda name, path: path.endswith(".md") or name in bases, 20)

    def test_decisions_exist(self):
        self.check(r"docs/decisions/(\d+)", lambda number, _: number in self.decisions, 10)
        self.check(r"\b[Dd]ecisions? \[?(\d+)", lambda number, _: f"{int(number):04}" in self.decisions, 10)

    def test_each_decision_is_cited_where_it_decides(self):
        """A comment of source code names it: `docs/decisions/0017`, or the record's file name. A record that a later one
        has replaced decides nothing any more, and no comment names it."""
        cited = {number for path, text in self.prose.items() if not path.endswith(".md")
                 for number in re.findall(r"docs/decisions/(\d{4})\b", text)}
        replaced = {number for number, path in self.decisions.items()
                    if re.search(r"^Replaced by \[decision \d+\]", self.files[path], re.M)}
        self.assertGreater(len(replaced), 2)
        self.assertEqual([path for number, path in sorted(self.decisions.items()) if number not in cited | replaced], [])
        self.assertEqual([self.decisions[number] for number in sorted(cited & replaced)], [])

    def test_invariants_exist(self):
        numbers = set(re.findall(r"^### (\d+)\. ", self.files["docs/states.md"], re.M))
        self.assertGreater(len(numbers), 8)
        self.check(r"\binvariants? (\d+)", lambda number, _: number in numbers, 8)

    def test_no_document_outside_the_repository_is_cited(self):
        # This file is skipped, because it contains the words that it searches for.
        self.assertEqual([f"{path}: {match}" for path, text in self.prose.items() for match in re.findall(_OUTSIDE, text)
                          if not path.endswith("references_test.py")], [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
