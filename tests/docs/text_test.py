"""Checks that everything that the pages name exists: links, files, functions, tests, scripts, targets, variables."""

import os
import re
import subprocess
import sys
import unittest

from tests.docs import pages


def read_sources():
    """Returns the text of every source file, by its path from the root."""
    texts = {}
    # Skips Bazel's links, which lead into its output tree.
    folders = [path for path in pages.ROOT.iterdir() if path.is_dir() and not path.is_symlink() and path.name[0] != "."]
    for folder in folders:
        for path in folder.rglob("*"):
            if path.suffix in (".cc", ".h", ".py", ".proto", ".bzl") and path.is_file():
                texts[str(path.relative_to(pages.ROOT))] = path.read_text()
    return texts


def quoted(text):
    """Returns the texts in single backticks, outside of fenced blocks."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return re.findall(r"`([^`\n]+)`", text)


def anchors(text):
    """Returns the anchors that GitHub gives to the headings of a page."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"^#+ (.*)$", text, re.M)}


class Text(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pages = pages.pages()
        cls.sources = read_sources()

    def each(self, found, what):
        """Checks that every (page, thing, is_right) triple is right, and that there is at least one."""
        wrong = [f"{page}: {thing}" for page, thing, right in found if not right]
        self.assertTrue(found, f"no {what} in any page: the test does not see them")
        self.assertEqual(wrong, [], what)

    def test_links_resolve(self):
        self.each([(page, link, self.resolves(page, *link.partition("#")[::2]))
                   for page, text in self.pages.items()
                   for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link], "links")

    def resolves(self, page, path, anchor):
        """Returns true if a link of `page` leads to a file or folder and, if it names an anchor, to a heading
        of that page."""
        target = (pages.ROOT / page).parent.joinpath(path).resolve() if path else pages.ROOT / page
        return target.exists() and (not anchor or anchor in anchors(target.read_text()))

    def test_files_exist(self):
        tops = {path.name for path in pages.ROOT.iterdir()}
        self.each([(page, word, (pages.ROOT / word.partition(":")[0]).exists())
                   for page, text in self.pages.items() for word in quoted(text)
                   if re.fullmatch(r"[\w.]+/[\w./:-]*", word) and word.split("/")[0] in tops
                   and not word.startswith("bazel-") and "NAME" not in word], "files")

    def test_cited_tests_exist(self):
        def exists(file, name):
            pattern = rf"def {name}\(self" if file.endswith(".py") else rf"^TEST(_F|_P)?\(\w+, {name}\)"
            return re.search(pattern, self.sources.get(file, ""), re.M) is not None

        self.each([(page, f"{file}:{name}", exists(file, name)) for page, text in self.pages.items()
                   for file, name in re.findall(r"`([\w/.-]+_test\.(?:cc|py)):(\w+)`", text)], "tests")

    def test_functions_exist(self):
        def exists(owner, name):
            return any(f"{name}(" in text and owner in text for text in self.sources.values())

        self.each([(page, word, exists(*re.fullmatch(r"(?:(\w+)::)?(\w+)\(\)", word).groups(default="")))
                   for page, text in self.pages.items() for word in quoted(text)
                   if re.fullmatch(r"(?:\w+::)?\w+\(\)", word)], "functions")

    def test_every_indented_line_is_a_command(self):
        self.each([(command.where, command.text, command.is_known or not command.text)
                   for page, text in self.pages.items() for command in pages.commands(page, text)], "commands")

    def test_scripts_and_targets_exist(self):
        others = [command for page, text in self.pages.items() for command in pages.commands(page, text)
                  if command.is_known and not command.is_run]
        self.assertTrue(others)
        for command in others:
            with self.subTest(command=command.text, where=command.where):
                words = command.text.split()
                if words[0] != "bazel":
                    self.check_script(words[0])
                if words[0] == "bench/run":
                    self.check_bench(words[1:])
                for label in re.findall(r"//[\w/.:-]+", command.text):
                    self.check_label(label)

    def check_script(self, name):
        path = pages.ROOT / name
        self.assertTrue(os.access(path, os.X_OK), f"{name} is not an executable file")
        if "bash" in path.read_text().splitlines()[0]:
            subprocess.run(["bash", "-n", path], check=True)

    def check_bench(self, words):
        # The reader's shell has no PYTHONPATH. The test's own leads to this test's files, which lack most of the modules.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        shown = subprocess.run([sys.executable, pages.ROOT / "bench/run", "--help"], env=environment, capture_output=True, text=True,
                               timeout=30)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        for word in words:
            if re.match(r"--|[a-z]+$", word):
                self.assertRegex(shown.stdout, rf"(^|\s){word}(\s|$)")

    def check_label(self, label):
        package, _, target = label[2:].partition(":")
        folder = pages.ROOT / package.removesuffix("...")
        self.assertTrue(folder.is_dir(), label)
        if target:
            self.assertIn(f'name = "{target}"', (folder / "BUILD.bazel").read_text(), label)

    def test_decisions_are_numbered_without_a_gap(self):
        numbers = sorted(int(re.match(r"docs/decisions/(\d{4})-", page).group(1)) for page in self.pages
                         if page.startswith("docs/decisions/"))
        self.assertEqual(numbers, list(range(1, len(numbers) + 1)))


class Failures(unittest.TestCase):
    """Checks docs/failures.md: each fault has all its parts, cites a test, and is short enough to read under pressure."""

    MAX_WORDS = 25

    def setUp(self):
        text = pages.pages()["docs/failures.md"]
        sections = re.split(r"^### ", re.sub(r"^## .*$", "", text, flags=re.M), flags=re.M)[1:]
        self.faults = {section.partition("\n")[0]: section.partition("\n")[2] for section in sections}

    def each(self, wrong):
        self.assertGreater(len(self.faults), 120, "the test does not see the sections")
        self.assertEqual([title for title, body in self.faults.items() if wrong(body)], [])

    def test_each_says_what_happens_and_what_the_user_sees(self):
        self.each(lambda body: re.findall(r"^- \*\*(What happens|What you see|Shown by)\.\*\*\s+\S", body, re.M)
                  != ["What happens", "What you see", "Shown by"])

    def test_each_cites_a_test(self):
        def cites(body):
            shown = body.partition("**Shown by.**")[2]
            named = re.findall(r"`([\w/.-]+_test\.(?:cc|py)|tests/scenarios/\w+\.txt)(?::\w+)?`", shown)
            # The tests of Text check that each one exists.
            return named or "a measurement by hand" in shown

        self.each(lambda body: not cites(body))

    def test_sentences_are_short(self):
        def longest(body):
            text = re.sub(r"```.*?```|^    .*$", "", body.partition("- **Shown by")[0], flags=re.M | re.S)
            text = re.sub(r"\]\([^)]*\)", "]", text)
            text = re.sub(r'`[^`]*`|"[^"]*"', "X", text)
            sentences = re.split(r"(?<=[.:;])\s|\n\n|\n- ", text)
            return max(len(sentence.split()) for sentence in sentences)

        self.each(lambda body: longest(body) > self.MAX_WORDS)


class Environment(unittest.TestCase):
    def setUp(self):
        self.page = pages.pages()["docs/environment.md"]
        self.sources = read_sources()

    def test_workers_variables_are_those_of_worker_env(self):
        documented = {row[0] for row in pages.table(self.page, "variable")}
        named = set(re.findall(r'kEnv\w+\[\] = "(\w+)"', self.sources["common/worker_env.h"]))
        self.assertGreater(len(named), 30)
        # Only the user sets these. accel reads them.
        self.assertEqual(documented,
                         named - {"ACCELERATE_GRADIENT_ACCUMULATION_STEPS", "ACCEL_SHARED_MEMORY", "ACCEL_NCCL_LIBRARY"})

    def test_every_variable_that_is_read_is_documented(self):
        read = set()
        for path, text in self.sources.items():
            if not path.endswith(("_test.cc", "_test.py", "_test_base.cc", "_test_folder.h")) and "testing/" not in path:
                read |= set(re.findall(r'(?:getenv|environ\.get|envname)\("(\w+)"', text))
        # Bazel and tests set these.
        read -= {"TEST_TMPDIR", "TEST_UNDECLARED_OUTPUTS_DIR", "TEST_TOTAL_SHARDS", "TEST_SHARD_INDEX", "TEST_SHARD_STATUS_FILE",
                 "ACCEL_TEST_HOME", "BUILD_WORKSPACE_DIRECTORY"}
        self.assertGreater(len(read), 5)
        self.assertEqual({name for name in read if f"`{name}`" not in self.page}, set())


if __name__ == "__main__":
    unittest.main(verbosity=2)
