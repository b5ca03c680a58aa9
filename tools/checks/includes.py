"""Reads the #include lines of C and C++ files."""

import re

_INCLUDE = re.compile(r'[ \t]*#[ \t]*include[ \t]+(?:"([^"]+)"|<([^>]+)>)')


def includes(tree, path):
    """Returns (line, included file) for each #include in a file."""
    for token in tree.tokens(path):
        match = token.kind == "directive" and _INCLUDE.match(token.text)
        if match:
            yield token.line, match.group(1) or match.group(2)


def companion(tree, header):
    """Returns the .cc file that defines what a header declares, or None."""
    source = header.removesuffix(".h") + ".cc"
    return source if header.endswith(".h") and source in tree else None
