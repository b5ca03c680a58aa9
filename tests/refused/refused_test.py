"""What users write by mistake does not compile, and the compiler says in a sentence what to write instead.

Each such statement of preparations.cc stands under a line "// refused: TEXT", and ends at the next such line or brace; TEXT
is to be part of an error that leads to the statement. Everything else compiles."""

import pathlib
import re
import unittest

FOLDER = pathlib.Path(__file__).parent
SOURCE = "preparations.cc"


def errors(messages):
    """Pairs of a line of SOURCE and an error that arose there, or in a template that this line asked for."""
    line = None
    for message in messages.splitlines():
        place = re.search(rf"{re.escape(SOURCE)}:(\d+):\d+: +(required from here|error: )", message)
        if place:
            line = int(place.group(1))
        if " error: " in message:
            yield line, message.partition(" error: ")[2]


def refusals(source):
    """The TEXT of each refusal, and the lines of its statement."""
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
