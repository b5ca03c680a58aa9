"""Finds functions that no program reaches.

Works by names: everything that the body of a reachable function names is reachable, and so is everything that is named
outside of functions. A name that several functions share keeps all of them, so each finding is dead, but not all dead
functions are found. The roots are main(), the declarations of public headers, the code on the pages for users,
overrides of another library's virtual functions, and the names in macros. Tests are not roots, but a function whose
comment says that it is "for tests" may be there for them alone.
"""

import collections
import re

from tools.checks.build_files import targets, test_files

TITLE = "only tests call this, or nothing does; what only tests ask says so in its comment (\"for tests\")"

# Names that no code spells out: the language, the linker (--wrap), GCC (a plugin) or gRPC calls them, or templates look them up.
_IMPLICIT = re.compile(r"~|operator|__wrap_|grpc_|plugin_init\Z|main\Z|begin\Z|end\Z|[A-Z][A-Z_0-9]+\Z|AbslHashValue|AbslStringify|to_json|from_json|swap\Z")
_WORD = re.compile(r"[A-Za-z_]\w*")
_SYMBOL = re.compile(r'\A"([A-Za-z_]\w*)"\Z')


def _names(tokens):
    return {token.text for token in tokens if token.kind == "name"}


class _Functions:
    """The functions of the tree, the names that each uses, and the names that are used outside of functions."""

    def __init__(self, tree, paths):
        self.named_by = collections.defaultdict(set)  # simple name of a function -> the names in it
        self.roots = set()
        self.declared = {}  # simple name -> where its first declaration is
        self.for_tests = set()  # simple names of functions whose comment says that they are for tests
        self.overrides = collections.defaultdict(list)  # simple name -> whether each declaration overrides
        for path in paths:
            self._take(tree, path)

    def _take(self, tree, path):
        inside = set()
        declared = tree.declarations(path)
        lines = tree[path].splitlines()
        for found in declared:
            name = found.simple_name
            if found.kind != "function":
                continue
            names = _names(found.body)
            before = {token.text for token in found.head[:found.name_at] if token.kind == "name"}
            # The head names types and default arguments. The function's own name does not count.
            names |= before | _names(found.head[found.name_at + 1:])
            self.named_by[name] |= names - {name}
            self.declared.setdefault(name, f"{path}:{found.line}")
            if "for tests" in _comment_above(lines, found.line):
                self.for_tests.add(name)
            if found.name_at == 0 or found.head[found.name_at - 1].text != "::":  # It is declared in its class.
                self.overrides[name].append(bool({"override", "final"} & names))
            inside.update(id(token) for token in found.head + found.body)
        for token in tree.tokens(path):
            if token.kind == "directive":
                if not token.text.lstrip().startswith("#include"):
                    self.roots.update(_WORD.findall(token.text))
            elif token.kind == "string":  # It may be a name that dlsym() looks up.
                self.roots.update(_SYMBOL.findall(token.text))
            elif token.kind == "name" and id(token) not in inside:
                self.roots.add(token.text)


def _comment_above(lines, number):
    """Returns the comment that ends on the line before this one, counted from 1."""
    first = number - 1
    while first > 0 and lines[first - 1].lstrip().startswith("//"):
        first -= 1
    return " ".join(line.strip(" /") for line in lines[first:number - 1])


def _reachable(functions, roots):
    reached, waiting = set(), list(roots)
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        waiting.extend(functions.named_by.get(name, ()))
    return reached


def _class_names(tree, paths):
    return {found.simple_name.partition("<")[0] for path in paths for found in tree.declarations(path) if found.kind == "class"}


def _public_names(tree, paths):
    """Returns the declarations of the public headers, and the members of the classes that they derive from or return."""
    declared = [found for target in targets(tree) if target.is_public and not target.is_test
                for header in target.headers if header in tree for found in tree.declarations(header)]
    public = {found.simple_name for found in declared}
    classes = {found.simple_name: (path, found) for path in paths for found in tree.declarations(path) if found.kind == "class"}
    waiting, seen = [found for found in declared if found.kind != "variable"], set()
    while waiting:
        for name in _names(waiting.pop().head) & classes.keys() - seen:
            seen.add(name)
            path, base = classes[name]
            waiting.append(base)
            public |= {found.simple_name for found in tree.declarations(path) if found.name.startswith(base.name + "::")}
    return public


def _shown_in_pages(tree):
    """Returns the words in code blocks and backticks. Decision records are skipped, because they are not for users."""
    code = re.compile(r"^```.*?^```|`[^`\n]+`", re.M | re.S)
    return {word for page in tree.paths(".md") if "/decisions/" not in page
            for match in code.finditer(tree[page]) for word in _WORD.findall(match.group())}


def faults(tree):
    for_tests = test_files(tree)
    paths = [path for path in tree.paths(".cc", ".h", ".c") if path not in for_tests]
    functions = _Functions(tree, paths)
    roots = {name for name in functions.declared if _IMPLICIT.match(name)} | functions.roots
    roots |= functions.for_tests
    roots |= {name for name, overrides in functions.overrides.items() if overrides and all(overrides)}
    roots |= _class_names(tree, paths) | _public_names(tree, paths) | _shown_in_pages(tree)
    reached = _reachable(functions, roots)
    return sorted(f"{where}: {name}()" for name, where in functions.declared.items() if name not in reached)
