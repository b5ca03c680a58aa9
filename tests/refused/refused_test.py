"""What users write by mistake does not compile, and the compiler says in a sentence what to write instead.

Each such line of preparations.cc ends in "// refused: TEXT"; TEXT is to be part of an error that leads to that line.
Every other line compiles."""

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


class Refused(unittest.TestCase):
    def test_each_mistake_has_its_sentence(self):
        source = (FOLDER / SOURCE).read_text().splitlines()
        wanted = {number: line.partition("// refused: ")[2] for number, line in enumerate(source, 1) if "// refused: " in line}
        found = list(errors((FOLDER / SOURCE).with_suffix(".txt").read_text()))
        self.assertGreater(len(wanted), 5)
        for number, text in wanted.items():
            self.assertTrue(any(line == number and text in error for line, error in found),
                            f"{SOURCE}:{number} is not refused with: {text}\n{found}")

    def test_the_rest_compiles(self):
        source = (FOLDER / SOURCE).read_text().splitlines()
        for number, error in errors((FOLDER / SOURCE).with_suffix(".txt").read_text()):
            self.assertIsNotNone(number, error)
            self.assertIn("// refused: ", source[number - 1], f"{SOURCE}:{number}: {error}")


if __name__ == "__main__":
    unittest.main()
