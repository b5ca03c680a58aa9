"""Lists files that are nearly full. This is a note and not a fault: look for a second idea in the file, and
move it to another file."""

TITLE = "350 lines and more; look for an idea that belongs in a file of its own"


def notes(tree):
    sizes = {path: tree[path].count("\n") for path in tree.paths(".cc", ".h", ".c", ".py", ".bzl")}
    return [f"{lines} {path}" for path, lines in sorted(sizes.items(), key=lambda item: -item[1]) if lines >= 350]
