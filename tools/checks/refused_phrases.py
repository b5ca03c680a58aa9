"""Finds the phrases that docs/style.md refuses in comments, string literals and pages.

The page's block under "Refused phrases" has one regular expression per line. Each is searched in every line, and in the
text of a whole comment, because a phrase may begin on one line and end on the next. The page itself is skipped, because
it shows what it refuses.
"""

import bisect
import re

from tools.checks.prose import pieces

PAGE = "docs/style.md"
TITLE = f"a phrase that {PAGE} refuses"

_BLOCK = re.compile(r"^#+ Refused phrases$.*?^```\w*\n(.*?)^```", re.M | re.S)
_MARKER = re.compile(r"^\s*(//+|#+|\*)? ?")


def phrases(page):
    block = _BLOCK.search(page)
    return [re.compile(line) for line in block.group(1).splitlines() if line.strip()] if block else []


def _whole(piece):
    """Returns the piece as one text without markers, and the offset in it at which each line begins."""
    text, starts = "", []
    for _, line in piece:
        starts.append(len(text))
        text += _MARKER.sub("", line, count=1).strip() + " "
    return text, starts


def _found(piece, refused):
    """Returns (line, phrase) for each refused phrase in a piece, without duplicates."""
    text, starts = _whole(piece)
    found = set()
    for expression in refused:
        for line, line_text in piece:
            found |= {(line, match.group().strip(" /#*.")) for match in expression.finditer(line_text)}
        for match in expression.finditer(text):
            found.add((piece[bisect.bisect(starts, match.start()) - 1][0], match.group().strip(" /#*.")))
    return sorted(found)


def faults(tree):
    refused = phrases(tree[PAGE]) if PAGE in tree else []
    if not refused:
        return [f"{PAGE}: has no block of refused phrases"]
    return [f"{path}:{line}: {phrase}" for path in tree.paths() if path != PAGE
            for piece in pieces(tree, path) for line, phrase in _found(piece, refused)]
