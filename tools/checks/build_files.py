"""Reads from the BUILD files which target each C and C++ source belongs to."""

import ast
from typing import NamedTuple


class Target(NamedTuple):
    label: str
    rule: str
    sources: tuple  # Paths from the root of the tree.
    headers: tuple
    is_test: bool    # True for a test, and for a target that only tests may use.
    is_public: bool  # True for a target that users of accel may use: in the folder accel/, or with public visibility.


def _strings(value):
    """Returns the literals in a list, including those in the branches of a select()."""
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
    """Returns the sources that only tests use: the sources of tests, and of testonly targets."""
    for_tests, for_others = set(), set()
    for target in targets(tree):
        (for_tests if target.is_test else for_others).update(target.sources + target.headers)
    everywhere = {path for path in tree.paths(".cc", ".h", ".c") if path.startswith("tests/") or path.endswith("_test.cc")}
    return (for_tests - for_others) | everywhere


def named_in_build_files(tree):
    """Returns (folder, string) for each string literal in a BUILD file. All literals are returned, because a loop or a
    macro may make the name of a file from several."""
    found = set()
    for path in tree.paths("/BUILD.bazel", "/BUILD"):
        folder = path.rpartition("/")[0]
        for text in _strings(ast.parse(tree[path])):
            # "sub/file.cc" belongs to the folder sub.
            inner, _, name = text.rpartition("/")
            found.add((f"{folder}/{inner}".rstrip("/"), name))
    return found
