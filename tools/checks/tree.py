"""The files that the checks read, from the checkout or, in a test, from a dictionary."""

import functools
import os
import subprocess

from tools.checks import cpp


class Tree:
    def __init__(self, files):
        """`files` has the text of each file by its path from the root."""
        self._files = files
        self._tokens = {}
        self._declarations = {}

    def paths(self, *suffixes):
        """Returns the paths that end in one of `suffixes`, sorted. Without suffixes, returns all paths."""
        return sorted(path for path in self._files if not suffixes or path.endswith(suffixes))

    def __contains__(self, path):
        return path in self._files

    def __getitem__(self, path):
        return self._files[path]

    def tokens(self, path):
        """Returns the tokens of a C or C++ file. The list is shared and must not be changed."""
        if path not in self._tokens:
            self._tokens[path] = cpp.tokens(self[path])
        return self._tokens[path]

    def declarations(self, path):
        """Returns the declarations of a C or C++ file outside of functions, in order. The list is shared and must
        not be changed."""
        from tools.checks import cpp_scopes
        if path not in self._declarations:
            self._declarations[path] = list(cpp_scopes.declarations(self.tokens(path)))
        return self._declarations[path]


@functools.cache
def checkout():
    """Returns the tracked files of the checkout that contains this file. Files that are not text are skipped."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True)
    files = {}
    for path in filter(None, listed.stdout.split("\0")):
        try:
            with open(os.path.join(root, path), encoding="utf-8") as file:
                files[path] = file.read()
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue
    return Tree(files)
