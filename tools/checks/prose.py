"""Returns the text that people read in the tree, piece by piece: comments, string literals and pages.

A piece is a list of (line, text). The lines of comments keep their markers.
"""

import io
import re
import tokenize

_STRING = re.compile(r'"(?:\\.|[^"\\])*"|\'[^\']*\'', re.S)


def _blocks(comments):
    """Joins comments on successive lines into one piece. Trailing comments on successive lines are read both
    joined and separately."""
    block = []
    for line, text in comments:
        if block and line != block[-1][0] + 1:
            yield block
            block = []
        block.append((line, text))
    if block:
        yield block


def _lines(line, text):
    return [(line + offset, part) for offset, part in enumerate(text.split("\n"))]


def _of_cpp(tokens):
    comments, literal = [], []
    for token in tokens:
        if token.kind in ("string", "raw"):
            literal += _lines(token.line, token.text.partition('"')[2].rpartition('"')[0])
            continue
        if token.kind == "comment":
            comments += _lines(token.line, token.text)
        elif literal:
            yield literal
            literal = []
        if token.kind == "directive" and "//" in token.text:
            comments.append((token.line, token.text[token.text.index("//"):]))
    if literal:
        yield literal
    yield from _blocks(comments)


def _of_python(text):
    comments = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            comments.append((token.start[0], token.string))
        elif token.type == tokenize.STRING:
            yield _lines(token.start[0], token.string.strip("rbuf").strip("\"'"))
    yield from _blocks(comments)


def _of_shell(text):
    comments, rest = [], []
    for number, line in enumerate(text.split("\n"), 1):
        match = re.search(r"(?:^|\s)#(?!!)(?=\s|$).*", line)
        if match:
            comments.append((number, match.group().strip()))
        rest.append(line[:match.start()] if match else line)
    yield from _blocks(comments)
    code = "\n".join(rest)
    for match in _STRING.finditer(code):
        yield _lines(code.count("\n", 0, match.start()) + 1, match.group()[1:-1])


def _of_page(text):
    piece = []
    for number, line in enumerate(text.split("\n") + [""], 1):
        if line.strip():
            piece.append((number, line))
        elif piece:
            yield piece
            piece = []


def pieces(tree, path):
    text = tree[path]
    if path.endswith((".cc", ".h", ".c", ".proto")):
        return _of_cpp(tree.tokens(path))
    if path.endswith((".py", ".bzl", "BUILD", ".bazel", "WORKSPACE")):
        return _of_python(text)
    if path.endswith(".sh") or text.startswith("#!") and "sh" in text.split("\n")[0]:
        return _of_shell(text)
    if path.endswith(".md"):
        return _of_page(text)
    return ()
