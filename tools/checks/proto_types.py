"""Determines the message type of a C++ expression, as far as names allow.

A name has the types with which its file declares it. If its file does not declare it, it has the types of all
declarations in the tree. `auto` has the type of its initializer. None stands for an unknown type, which may
be any type.
"""

import collections

from tools.checks.cpp import is_code

# Calls that return the message that their object or their argument holds.
_OF_OBJECT = {"at", "back", "begin", "front", "get", "rbegin", "value"}
_OF_ARGUMENT = {"move", "CHECK_NOTNULL"}
_BETWEEN = {"const", "&", "*", ">"}


def opening(code, closes):
    """Returns the index of the bracket that is closed by the bracket at `closes`, or -1."""
    pairs = {")": "(", "]": "[", "}": "{"}
    depth = 0
    for index in range(closes, -1, -1):
        if code[index].text == code[closes].text:
            depth += 1
        elif code[index].text == pairs[code[closes].text]:
            depth -= 1
            if depth == 0:
                return index
    return -1


def accessor_field(name):
    """Splits "mutable_job" into ("mutable_", "job"). Without a prefix, returns ("", name)."""
    for prefix in ("set_allocated_", "mutable_", "set_", "add_", "has_", "clear_"):
        if name.startswith(prefix):
            return prefix, name.removeprefix(prefix)
    return ("", name.removesuffix("_size")) if name.endswith("_size") else ("", name)


class Types:
    def __init__(self, tree, paths, fields):
        self._messages = {field.message for field in fields} | {field.type for field in fields if field.type[0].isupper()}
        self._fields = collections.defaultdict(list)
        for field in fields:
            self._fields[field.name].append(field)
        self._code = {path: [token for token in tree.tokens(path) if is_code(token)] for path in paths}
        self._local = {path: self._declared(code) for path, code in self._code.items()}
        self._anywhere = collections.defaultdict(set)
        for names in self._local.values():
            for name, types in names.items():
                self._anywhere[name] |= types
        for path, code in self._code.items():
            self._add_auto(path, code)

    def code(self, path):
        return self._code[path]

    def _declared(self, code):
        """Returns name -> types for declarations of the form `v1::Type name`, also inside of template arguments."""
        names = collections.defaultdict(set)
        for index in range(len(code) - 3):
            if code[index].text == "v1" and code[index + 1].text == "::" and code[index + 2].text in self._messages:
                after = index + 3
                while after < len(code) and code[after].text in _BETWEEN:
                    after += 1
                while after + 1 < len(code) and code[after + 1].text == "::":  # Class::Function
                    after += 2
                if after < len(code) and code[after].kind == "name":
                    names[code[after].text].add(code[index + 2].text)
        return names

    def _add_auto(self, path, code):
        for index, token in enumerate(code):
            if token.text != "auto":
                continue
            after = index + 1
            while code[after].text in ("&", "*", "const"):
                after += 1
            if code[after].text == "[":
                while code[after].text != "]":
                    if code[after].kind == "name":
                        self._local[path][code[after].text].add(None)
                    after += 1
            elif code[after].kind == "name":
                types = None
                if code[after + 1].text in ("=", ":"):
                    types = self.of(path, self._end(code, after + 2))
                self._local[path][code[after].text] |= types or {None}

    @staticmethod
    def _end(code, index):
        """Returns the last token of the expression that begins at `index`."""
        depth = 0
        while index < len(code):
            text = code[index].text
            if text in "([{":
                depth += 1
            elif text in ")]}":
                depth -= 1
            if depth < 0 or (depth == 0 and text == ";"):
                return index - 1
            index += 1
        return len(code) - 1

    def of(self, path, last):
        """Returns the types of the expression that ends at the index `last`, or None."""
        code = self._code[path]
        token = code[last]
        if token.text == "]":
            return self.of(path, opening(code, last) - 1)
        if token.text == ")":
            return self._of_call(path, last)
        if token.kind != "name" or token.text == "this":
            return None
        return self._named(path, token.text)

    def _named(self, path, name):
        for names in (self._local[path], self._anywhere):
            if names.get(name):
                return None if None in names[name] else names[name]
        return None

    def _of_call(self, path, last):
        code = self._code[path]
        opens = opening(code, last)
        if opens < 1:
            return None
        callee = code[opens - 1]
        if callee.kind != "name":  # (*name)
            return self.of(path, last - 1)
        if callee.text in _OF_ARGUMENT:
            return self.of(path, last - 1)
        if opens > 2 and code[opens - 2].text in (".", "->"):
            if callee.text in _OF_OBJECT:
                return self.of(path, opens - 3)
            fields = self.fields(path, opens - 1)
            if fields:
                return {field.type for field in fields}
        return self._named(path, callee.text)

    def fields(self, path, at):
        """Returns the fields to which the accessor at the index `at` may belong."""
        candidates = self._fields.get(accessor_field(self._code[path][at].text)[1], ())
        if not candidates:
            return []
        types = self.of(path, at - 2)
        return [field for field in candidates if types is None or field.message in types]
