"""Checks that each qualified name has one definition, over everything that is linked together.

Two classes, functions or variables with the same name in two files are undefined behaviour. The compiler does not
report it, and for inline definitions neither does the linker: one of them is used for both. A name in an anonymous
namespace belongs to its file only, so it is not compared.
"""

import re

TITLE = "defined twice; what only one file uses belongs in its anonymous namespace"


def _is_checked(declaration):
    if declaration.is_local or not declaration.is_definition or declaration.name == "main":
        return False
    # The names that gtest defines contain the suite.
    if re.search(r"(^|::)[A-Z][A-Z_]+$", declaration.name) and declaration.kind == "function":
        return False
    return "(unnamed" not in declaration.name


def _types(parameters):
    """Returns a parameter list without default values and parameter names."""
    types, depth = [""], 0
    for word in parameters.split():
        depth += (word in "(<[{") - (word in ")>]}")
        if word == "," and depth == 0:
            types.append("")
        else:
            types[-1] += " " + word
    return tuple(re.sub(r"([\w>&*])\s+[A-Za-z_]\w*\s*\Z", r"\1", kind.partition(" = ")[0]).strip() for kind in types)


def _signature(declaration):
    return (declaration.kind, declaration.name, _types(declaration.parameters))


def faults(tree):
    first, classes, found = {}, set(), []
    for path in tree.paths(".cc", ".h", ".c"):
        for declaration in tree.declarations(path):
            if declaration.kind == "class" and declaration.is_definition:
                classes.add(declaration.name)
    for path in tree.paths(".cc", ".h", ".c"):
        for declaration in tree.declarations(path):
            if not _is_checked(declaration):
                continue
            # A member variable is skipped, because it may be declared in its class and defined outside of it.
            scope = declaration.name.rpartition("::")[0]
            if declaration.kind == "variable" and scope in classes:
                continue
            other = first.setdefault(_signature(declaration), (path, declaration.line))
            if other[0] != path:
                found.append(f"{declaration.name}: {other[0]}:{other[1]} and {path}:{declaration.line}")
    return found
