"""Finds the declarations of C and C++ code at namespace and class level. It knows enough of the grammar for
code that compiles.

The text between two of ";", "{" and "}" is a head. The tokens of a head tell whether a brace opens a namespace, a
class, a function's body or an initializer. Bodies are skipped, but their tokens are kept with the function.
"""

from typing import NamedTuple

from tools.checks.cpp import is_code

_CLASS_KEYS = ("class", "struct", "union", "enum")
# Words whose parentheses do not contain parameters.
_NO_PARAMETERS = ("alignas", "decltype", "explicit", "noexcept", "__attribute__", "requires")


class Declaration(NamedTuple):
    kind: str           # class, function or variable
    name: str           # Qualified: "accel::Job::Start".
    line: int
    is_definition: bool
    is_local: bool      # In an anonymous namespace, or static at namespace level, so that other files do not see it.
    parameters: str     # A function's parameter list as written, with single spaces.
    head: tuple         # The tokens of the head.
    name_at: int        # Index of the simple name in `head`.
    body: tuple         # A function's tokens between its braces, with its initializers.

    @property
    def simple_name(self):
        return self.name.rpartition("::")[2]


class _Scope(NamedTuple):
    name: str
    is_local: bool
    is_class: bool


def declarations(tokens):
    code = [token for token in tokens if is_code(token)]
    scopes = [_Scope("", False, False)]
    head = []
    at = 0
    while at < len(code):
        text = code[at].text
        if text == "{":
            kind = _opens(head)
            if kind == "initializer":
                end = _matching(code, at)
                head.extend(code[at:end + 1])
                at = end + 1
                continue
            if kind == "namespace":
                scopes.append(_namespace(head, scopes[-1]))
            elif kind == "extern":
                scopes.append(scopes[-1])
            elif kind == "function":
                end = _matching(code, at)
                declared = _function(head, scopes[-1], tuple(code[at + 1:end]), True)
                if declared:
                    yield declared
                at = end
            elif kind == "enum":
                yield _class(head, scopes[-1])
                end = _matching(code, at)
                at = end
            else:
                declared = _class(head, scopes[-1])
                yield declared
                scopes.append(_Scope(declared.name, declared.is_local, True))
            head = []
        elif text == "}":
            if len(scopes) > 1:
                scopes.pop()
            head = []
        elif text == ";":
            declared = _plain(head, scopes[-1])
            if declared:
                yield declared
            head = []
        elif text == ":" and len(head) == 1 and head[0].text in ("public", "private", "protected"):
            head = []
        else:
            head.append(code[at])
        at += 1


def _matching(code, at):
    """Returns the index of the bracket that closes the one at `at`."""
    pairs = {"{": "}", "(": ")", "[": "]"}
    opened, closing = code[at].text, pairs[code[at].text]
    depth = 0
    for index in range(at, len(code)):
        if code[index].text == opened:
            depth += 1
        elif code[index].text == closing:
            depth -= 1
            if depth == 0:
                return index
    return len(code) - 1


def _unclosed(head):
    return sum(token.text == "(" for token in head) > sum(token.text == ")" for token in head)


def _top(head):
    """Returns the indices of the head's tokens outside of parentheses, brackets and template arguments."""
    found, depth, angles = [], 0, 0
    for index, token in enumerate(head):
        text = token.text
        if text in "([{" and depth == 0 and angles == 0:
            found.append(index)
        if text in ("(", "[", "{"):
            depth += 1
        elif text in (")", "]", "}"):
            depth -= 1
            if depth == 0 and angles == 0:
                found.append(index)
                continue
        if depth:
            continue
        if text == "<" and index and (head[index - 1].kind == "name") and head[index - 1].text != "operator":
            angles += 1
        elif text == ">" and angles:
            angles -= 1
            continue
        if angles == 0 and text not in ("(", "[", "{"):
            found.append(index)
    return found


def _parameters_at(head, top):
    """Returns the index of the parenthesis that opens a function's parameters, or None."""
    for index in top:
        if head[index].text == "=" and "operator" not in (token.text for token in head[max(0, index - 2):index]):
            return None
        if head[index].text != "(" or index == 0:
            continue
        before = head[index - 1]
        if before.text in _NO_PARAMETERS:
            continue
        if before.kind == "name" and before.text.startswith(("ABSL_", "ACCEL_")) and before.text.isupper():
            continue
        if before.text == "operator":  # In operator()(...), the second pair has the parameters.
            continue
        return index
    return None


def _class_key_at(head, top):
    for index in top:
        if head[index].text in _CLASS_KEYS:
            return index
        if head[index].text in ("(", "="):
            return None
    return None


def _opens(head):
    texts = [token.text for token in head[:3]]
    if "namespace" in texts[:2]:
        return "namespace"
    if texts[:1] == ["extern"] and len(head) == 2 and head[1].kind == "string":
        return "extern"
    if _unclosed(head):  # The brace belongs to a default argument.
        return "initializer"
    top = _top(head)
    key = _class_key_at(head, top)
    if key is not None and not any(head[index].text == "(" and head[index - 1].text not in _NO_PARAMETERS
                                   for index in top if index > key):
        return "enum" if head[key].text == "enum" else "class"
    parameters = _parameters_at(head, top)
    if parameters is None:
        return "initializer"
    # In a constructor's initializers, the brace after a name or a template argument belongs to a member.
    after = [index for index in top if index > parameters]
    if any(head[index].text == ":" for index in after) and (head[-1].kind == "name" or head[-1].text == ">"):
        return "initializer"
    return "function"


def _namespace(head, outer):
    names = [token.text for token in head if token.kind == "name" and token.text not in ("inline", "namespace")]
    if not names:
        return _Scope(outer.name, True, False)
    return _Scope(_join(outer.name, "::".join(names)), outer.is_local, False)


def _join(scope, name):
    return f"{scope}::{name}" if scope else name


def _class(head, scope):
    top = _top(head)
    key = _class_key_at(head, top)
    at = key + 1
    if at < len(head) and head[at].text in ("class", "struct"):  # enum class
        at += 1
    name_at, names = key, []
    while at < len(head) and head[at].text not in (":", "final"):
        if head[at].text in ("[", "("):
            at = _matching(head, at) + 1
            names = []
            continue
        if head[at].kind == "name" and not (names and names[-1] == "::"):
            names = []
        if head[at].text == "<":
            names.append("".join(token.text for token in head[at:] if token.text not in ("final",)))
            break
        names.append(head[at].text)
        if head[at].kind == "name":
            name_at = at
        at += 1
    name = "".join(names) or f"(unnamed {head[key].line})"
    return Declaration("class", _join(scope.name, name), head[key].line, True, scope.is_local, "", tuple(head), name_at, ())


def _plain(head, scope):
    """Parses a head that ends in ";": a function's declaration, a variable, or neither."""
    if not head or head[0].text in ("using", "typedef", "friend", "static_assert", "namespace", "return"):
        return None
    if head[0].text in _CLASS_KEYS and all(token.kind == "name" or token.text == ":" for token in head):
        return None  # This is a forward declaration.
    top = _top(head)
    if _parameters_at(head, top) is not None:
        return _function(head, scope, (), False)
    return _variable(head, top, scope)


def _function(head, scope, body, is_definition):
    top = _top(head)
    opens = _parameters_at(head, top)
    texts = [token.text for token in head]
    if "operator" in texts:
        at = texts.index("operator")
        name = "".join(texts[at:opens])
    else:
        at = opens - 1
        if head[at].text == ">":  # Skips the arguments of a specialization.
            while at and head[at].text != "<":
                at -= 1
            at -= 1
        if head[at].kind != "name":
            return None
        name = head[at].text
        if name == "catch":  # The body of the function is one try block, and this is its handler.
            return None
        if at and head[at - 1].text == "~":
            name = "~" + name
            at -= 1
    name_at = at
    while at >= 2 and head[at - 1].text == "::" and (head[at - 2].kind == "name" or head[at - 2].text == ">"):
        at -= 2
        if head[at].text == ">":
            while at and head[at].text != "<":
                at -= 1
            at -= 1
        name = f"{head[at].text}::{name}"
    closes = _matching(head, opens)
    parameters = " ".join(texts[opens + 1:closes])
    is_local = scope.is_local or ("static" in texts[:at] and not scope.is_class)
    return Declaration("function", _join(scope.name, name), head[name_at].line, is_definition, is_local, parameters,
                       tuple(head), name_at, body + tuple(head[closes + 1:]))


def _variable(head, top, scope):
    """Parses a variable: its name is before "=", "{", "[" or the end."""
    end = next((index for index in top if head[index].text in ("=", "{", "[", ":") and index), len(head))
    if end < 2 or head[end - 1].kind != "name":
        return None
    texts = [token.text for token in head[:end]]
    if texts[-2] in _CLASS_KEYS:  # This is the forward declaration of a class template.
        return None
    is_constant = "const" in texts[:end - 1] or "constexpr" in texts
    is_local = scope.is_local or ("static" in texts and not scope.is_class) or (
        is_constant and "inline" not in texts and "extern" not in texts and not scope.is_class)
    return Declaration("variable", _join(scope.name, texts[-1]), head[end - 1].line, "extern" not in texts, is_local, "",
                       tuple(head), end - 1, ())
