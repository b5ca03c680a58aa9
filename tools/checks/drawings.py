"""Checks that drawings and lists in C++ comments survive clang-format.

clang-format reflows comments that are too long, which destroys a drawing. So drawings, and everything else with lines
or arrows, must stand between `// clang-format off` and `// clang-format on`. Lists may stand outside
of these markers. If clang-format has broken an item of a list, the rest of the item must keep its indentation.
"""

import re

# Box drawing, block elements, geometric shapes, and arrows made of characters: ->, =>, -->, <--.
_DRAWN = re.compile(r"[\u2190-\u21ff\u2500-\u25ff]|--+>|<--+|==+>|\+--|--\+")
_ITEM = re.compile(r"//( +)([*-]|\d+\.) +\S")

TITLE = "a drawing or list that clang-format breaks, or has broken; put it between // clang-format off and on"


def _comment_lines(tree, path):
    """Returns (line, text) for each line of each // comment outside of clang-format off."""
    is_off = False
    for token in tree.tokens(path):
        if token.kind != "comment":
            continue
        if token.text.startswith("// clang-format "):
            is_off = token.text == "// clang-format off"
        elif not is_off:
            for offset, text in enumerate(token.text.split("\n")):
                yield token.line + offset, text


def _indentation(text):
    return len(text) - len(text[2:].lstrip())


def _broken_lists(lines):
    """Returns the lines of continuations that have lost the indentation of their item, next to one that has kept it."""
    indentation, lost = None, None
    for (line, text), before in zip(lines, [None] + lines):
        if before is None or before[0] + 1 != line:
            indentation, lost = None, None
        item = _ITEM.match(text)
        if item:
            indentation, lost = _indentation(text), None
        elif indentation is None or not text[2:].strip():
            indentation, lost = None, None
        elif _indentation(text) <= indentation:
            lost = lost or line
        elif lost:
            yield lost
            indentation, lost = None, None


def faults(tree):
    found = []
    for path in tree.paths(".cc", ".h", ".c"):
        lines = list(_comment_lines(tree, path))
        found += [f"{path}:{line}: {text.strip()}" for line, text in lines if _DRAWN.search(text)]
        found += [f"{path}:{line}: a list item was broken here" for line in _broken_lists(lines)]
    return found
