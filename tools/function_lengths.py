"""Prints the functions that are longer than a number of lines: function_lengths.py MOST FILE...

Expects code as clang-format formats it: a definition's body opens with a line that ends in "{" and closes with a line
that has "}" at the same indentation as the definition's first line.
"""

import re
import sys

# Matches the line that opens a definition at namespace level or in a class. Does not match a namespace, type, array or
# control statement.
_CONTROL = re.compile(r"\s*(namespace|class|struct|enum|union|extern|if|for|while|switch|do|else|case|return|using|try|\}|#)\b")
_OPENS = re.compile(r"^ {0,6}[\w~:<>,*&\[\] =\"()-].*\)[^;=]*\{$")

# A lambda as an element of a list begins on its own line, and not where the list does.
_LAMBDA = re.compile(r"^\s*\[[\w&=, ]*\]\(")

_ENDS = re.compile(r"(^|[;{}:>]|^\s*//.*|^#.*)$")


def _indent(line):
    return len(line) - len(line.lstrip())


def long_functions(path, most):
    lines = open(path, encoding="utf-8").read().split("\n")
    for number, line in enumerate(lines):
        if not _OPENS.match(line):
            continue
        # A definition whose parameters or initializers wrap begins after the line that ended the code before it.
        start = number
        while start > 0 and not _LAMBDA.match(line) and not _ENDS.search(lines[start - 1]):
            start -= 1
        if _CONTROL.match(lines[start]):
            continue
        close = " " * _indent(lines[start]) + "}"
        for end in range(number + 1, len(lines)):
            if lines[end].startswith(close):
                if end - start + 1 > most:
                    yield end - start + 1, start + 1
                break


def main():
    most = int(sys.argv[1])
    for path in sys.argv[2:]:
        for length, line in long_functions(path, most):
            print(f"{length} lines: {path}:{line}")


main()
