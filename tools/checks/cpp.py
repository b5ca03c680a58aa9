"""Splits C and C++ into tokens. Unlike a grep, it is exact for comments, literals and directives."""

import re
from typing import NamedTuple

_TOKEN = re.compile(r"""
    (?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
  | (?P<directive>(?:(?<=\n)|\A)[ \t]*\#(?:\\\n|[^\n])*)
  | (?P<raw>(?:u8|[uUL])?R"(?P<delimiter>[^()\s\\]*)\(.*?\)(?P=delimiter)")
  | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
  | (?P<char>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
  | (?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<space>\s+)
  | (?P<mark>::|->|.)
""", re.X | re.S)


class Token(NamedTuple):
    kind: str  # comment, directive, raw (a raw string), string, char, number, name or mark
    text: str
    line: int


def tokens(text):
    found = []
    line = 1
    for match in _TOKEN.finditer(text):
        kind, piece = match.lastgroup, match.group()
        # The last group that matched is the innermost one for all kinds except raw strings.
        if kind == "delimiter":
            kind = "raw"
        if kind != "space":
            found.append(Token(kind, piece, line))
        line += piece.count("\n")
    return found


def is_code(token):
    return token.kind not in ("comment", "directive")
