"""Reads the messages and fields of the .proto files."""

import re
from typing import NamedTuple

_MESSAGE = re.compile(r"^( *)message (\w+) \{")
_FIELD = re.compile(r"^ +(?P<repeated>repeated +)?(?P<type>[\w.]+) (?P<name>\w+) = \d+;(?: *// *(?P<comment>.*))?$")


class Field(NamedTuple):
    message: str
    name: str
    type: str
    path: str
    line: int
    comment: str  # The trailing comment, or the comment lines directly above the field.


def fields(tree):
    found = []
    for path in tree.paths(".proto"):
        message, above = None, []
        for number, line in enumerate(tree[path].split("\n"), 1):
            opens, field = _MESSAGE.match(line), _FIELD.match(line)
            if opens:
                message = opens.group(2)
            elif field and message:
                comment = " ".join(above + [field.group("comment") or ""]).strip()
                found.append(Field(message, field.group("name"), field.group("type"), path, number, comment))
            above = above + [line.strip()[2:].strip()] if line.strip().startswith("//") else []
    return found
