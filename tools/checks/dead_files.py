"""Finds sources in no target, and headers that no file includes except their own source file and tests."""

import pathlib

from tools.checks.build_files import named_in_build_files, targets, test_files
from tools.checks.includes import companion, includes

TITLE = "nothing uses this file"


def faults(tree):
    programs, public = set(), set()
    for target in targets(tree):
        if target.rule != "cc_library":
            programs.update(target.sources)
        if target.is_public:
            public.update(target.headers)
    for_tests, named = test_files(tree), named_in_build_files(tree)
    included_by = {}
    for path in tree.paths(".cc", ".h", ".c"):
        for _, header in includes(tree, path):
            included_by.setdefault(header, set()).add(path)

    found = []
    for path in tree.paths(".cc", ".h", ".c"):
        file = pathlib.PurePath(path)
        if not {(str(file.parent), file.name), (str(file.parent), file.stem)} & named:
            found.append(f"{path}: in no target")
    for header in tree.paths(".h"):
        # The source file of a header uses it if it belongs to a program, and only defines it if it belongs
        # to a library.
        users = included_by.get(header, set()) - ({companion(tree, header)} - programs)
        if header not in for_tests:
            users -= for_tests
        if not users and header not in public:
            found.append(f"{header}: nothing includes it" + ("" if header in for_tests else ", tests aside"))
    return found
