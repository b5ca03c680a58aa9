"""What the BUILD files say of C and C++ sources: the target that each belongs to."""

import ast
from typing import NamedTuple


class Target(NamedTuple):
    label: str
    rule: str
    sources: tuple  # Paths from the root.
    headers: tuple
    is_test: bool    # A test, or for tests only.
    is_public: bool  # For users of accel: in the folder accel, or public by a visibility of its own.


def _strings(value):
    """The literals in a list; those in the branches of a select() too."""
    return [node.value for node in ast.walk(value) if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def targets(tree):
    found = []
    for path in tree.paths("/BUILD.bazel", "/BUILD", "BUILD.bazel"):
        folder = path.rpartition("/")[0]
        for call in ast.walk(ast.parse(tree[path])):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
                continue
            arguments = {keyword.arg: keyword.value for keyword in call.keywords}
            if "name" not in arguments or not isinstance(arguments["name"], ast.Constant):
                continue

            def files(name):
                return tuple(f"{folder}/{file}".lstrip("/") for file in _strings(arguments.get(name, ast.List([]))))

            rule = call.func.id
            for_tests = "testonly" in arguments and ast.literal_eval(arguments["testonly"]) in (True, 1)
            found.append(Target(f"//{folder}:{arguments['name'].value}", rule, files("srcs"), files("hdrs"),
                                rule.endswith("_test") or for_tests,
                                folder == "accel" or "//visibility:public" in _strings(arguments.get("visibility", ast.List([])))))
    return found


def test_files(tree):
    """The sources that only tests are made of: those of tests, and of what is for tests only."""
    for_tests, for_others = set(), set()
    for target in targets(tree):
        (for_tests if target.is_test else for_others).update(target.sources + target.headers)
    everywhere = {path for path in tree.paths(".cc", ".h", ".c") if path.startswith("tests/") or path.endswith("_test.cc")}
    return (for_tests - for_others) | everywhere


def named_in_build_files(tree):
    """(folder, string) of each literal in a BUILD file: what a loop or a macro makes a file's name from is among them."""
    found = set()
    for path in tree.paths("/BUILD.bazel", "/BUILD"):
        folder = path.rpartition("/")[0]
        for text in _strings(ast.parse(tree[path])):
            # "sub/file.cc" is a file of the folder sub.
            inner, _, name = text.rpartition("/")
            found.add((f"{folder}/{inner}".rstrip("/"), name))
    return found
