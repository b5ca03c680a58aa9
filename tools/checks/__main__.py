"""Runs every check over the checkout, and exits with 1 if any of them finds a fault. Notes are printed, but
are not faults."""

import sys

from tools.checks import (dead_files, dead_functions, definitions, drawings, history, long_files, missing_includes,
                          proto_fields, purity, refused_phrases, tree)

# Each check reads the files and returns one line per fault.
_CHECKS = (purity, missing_includes, definitions, dead_files, dead_functions, proto_fields, drawings, refused_phrases)


def _print(kind, title, lines):
    print(f"{kind}: {title}")
    for line in lines:
        print(f"  {line}")


def main():
    checkout = tree.checkout()
    found = [(check.TITLE, check.faults(checkout)) for check in _CHECKS]
    found.append((history.TITLE, history.faults(history.commits())))
    for title, faults in found:
        if faults:
            _print("check", title, faults)
    notes = long_files.notes(checkout)
    if notes:
        _print("note", long_files.TITLE, notes)
    return 1 if any(faults for _, faults in found) else 0


if __name__ == "__main__":
    sys.exit(main())
