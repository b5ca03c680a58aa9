"""Files that are nearly full. A note and no fault: at this size a reader looks for a second idea to move out."""

TITLE = "350 lines and more; look for an idea that belongs in a file of its own"


def notes(tree):
    sizes = {path: tree[path].count("\n") for path in tree.paths(".cc", ".h", ".c", ".py", ".bzl")}
    return [f"{lines} {path}" for path, lines in sorted(sizes.items(), key=lambda item: -item[1]) if lines >= 350]
