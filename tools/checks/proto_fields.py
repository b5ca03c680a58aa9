"""Finds fields of messages that only one side uses: written and never read, read and never written, or neither.

Tests do not count. A message that a program prints as JSON counts as read, because people read it. A field that
is kept for later is not reported: a sentence of its comment begins with "Reserved for".
"""

from tools.checks.build_files import test_files
from tools.checks.proto_schema import fields
from tools.checks.proto_types import Types, accessor_field

TITLE = "a field that one side does not know; a field kept for later says `Reserved for ...` in its comment"

_PRINTERS = ("ToJson", "MessageToJsonString")


def _uses(types, path):
    """Returns (field, whether it is read, whether it is written) for each access in a file."""
    code = types.code(path)
    for index in range(1, len(code) - 1):
        if code[index].kind == "name" and code[index + 1].text == "(" and code[index - 1].text in (".", "->"):
            prefix, _ = accessor_field(code[index].text)
            for field in types.fields(path, index):
                of_message = field.type[0].isupper()
                reads = prefix in ("", "has_") or (prefix == "mutable_" and of_message)
                yield field, reads, prefix in ("set_", "set_allocated_", "mutable_", "add_")


def _printed(types, paths):
    """Returns the messages that are printed as a whole."""
    for path in paths:
        code = types.code(path)
        for index, token in enumerate(code[:-1]):
            if token.text in _PRINTERS and code[index + 1].text == "(":
                end = index + 2
                while code[end].text not in (",", ")"):
                    end += 1
                yield from types.of(path, end - 1) or ()


def faults(tree):
    schema = fields(tree)
    for_tests = test_files(tree)
    paths = [path for path in tree.paths(".cc", ".h") if path not in for_tests]
    types = Types(tree, paths, schema)
    read, written = set(), set()
    for path in paths:
        for field, reads, writes in _uses(types, path):
            if reads:
                read.add(field)
            if writes:
                written.add(field)
    printed, waiting = set(), list(_printed(types, paths))
    while waiting:
        message = waiting.pop()
        if message not in printed:
            printed.add(message)
            waiting += [field.type for field in schema if field.message == message]
    read |= {field for field in schema if field.message in printed}

    found = []
    for field in schema:
        what = {(True, True): None, (False, True): "written, never read", (True, False): "read, never written",
                (False, False): "neither read nor written"}[field in read, field in written]
        if what and not field.comment.startswith("Reserved for ") and ". Reserved for " not in field.comment:
            found.append(f"{field.path}:{field.line}: {field.message}.{field.name}: {what}")
    return found
