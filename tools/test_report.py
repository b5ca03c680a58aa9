"""Prints the result of `bazel test` for people: the whole output of each test that failed, and the count
of each outcome.

    test_report.py FILE      FILE is what --build_event_json_file has written
"""

import json
import pathlib
import sys


def read(file):
    """Returns three things: the labels of tests that passed, the labels of tests that failed with the logs of their
    failed runs, and the labels of tests that were not built."""
    passed, failed, unbuilt = [], {}, []
    for line in pathlib.Path(file).read_text().splitlines():
        event = json.loads(line)
        kind, where = next(iter(event["id"].items()))
        if kind == "testSummary":
            summary = event["testSummary"]
            if summary["overallStatus"] == "PASSED":
                passed.append(where["label"])
            else:
                failed[where["label"]] = [output["uri"].removeprefix("file://") for output in summary.get("failed", [])]
        elif kind == "targetCompleted" and not event.get("completed", {}).get("success") and "aborted" not in event:
            unbuilt.append(where["label"])
    return passed, failed, [label for label in unbuilt if label not in failed]


def main():
    passed, failed, unbuilt = read(sys.argv[1])
    for label, logs in failed.items():
        for log in logs:
            print(f"== {label} failed: {log}")
            print(pathlib.Path(log).read_text(errors="replace").rstrip())
    for label in failed:
        print(f"   failed: {label}")
    for label in unbuilt:
        print(f"   not built: {label}")
    print(f"{len(passed)} passed, {len(failed)} failed" + (f", {len(unbuilt)} not built" if unbuilt else ""))


main()
