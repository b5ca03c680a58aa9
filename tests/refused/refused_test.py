"""Mistakes of users do not compile, and the compiler's error says what to write instead.

In preparations.cc, a line "// refused: TEXT" stands above each statement that must not compile. The statement ends at the next
such line or at a brace. TEXT must be part of an error that leads to the statement. All other statements must compile."""

import pathlib
import re
import unittest

FOLDER = pathlib.Path(__file__).parent
SOURCE = "preparations.cc"


def errors(messages):
    """Yields each error with the line of SOURCE that caused it, directly or by instantiating a template."""
    line = None
    for message in messages.splitlines():
        place = re.search(rf"{re.escape(SOURCE)}:(\d+):\d+: +(required from here|error: )", message)
        if place:
            line = int(place.group(1))
        if " error: " in message:
            yield line, message.partition(" error: ")[2]


def refusals(source):
    """Yields the TEXT of each refused statement, and the range of its lines."""
    text, first = None, 0
    for number, line in enumerate(source.splitlines(), 1):
        if text is not None and ("// refused: " in line or line.startswith("}")):
            yield text, range(first, number)
            text = None
        if "// refused: " in line:
            text, first = line.partition("// refused: ")[2], number + 1


class Refused(unittest.TestCase):
    def setUp(self):
        self.wanted = list(refusals((FOLDER / SOURCE).read_text()))
        self.found = list(errors((FOLDER / SOURCE).with_suffix(".txt").read_text()))

    def test_each_mistake_has_its_sentence(self):
        self.assertGreater(len(self.wanted), 5)
        for text, lines in self.wanted:
            self.assertTrue(any(line in lines and text in error for line, error in self.found),
                            f"{SOURCE}:{lines.start} is not refused with: {text}\n{self.found}")

    def test_the_rest_compiles(self):
        for line, error in self.found:
            self.assertTrue(any(line in lines for _, lines in self.wanted), f"{SOURCE}:{line}: {error}")


if __name__ == "__main__":
    unittest.main()
