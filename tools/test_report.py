"""Prints the result of `bazel test` for people: the whole output of each test that failed, each case that was skipped,
and the count of each outcome.

    test_report.py FILE      FILE is what --build_event_json_file has written
"""

import json
import pathlib
import re
import sys

# What googletest and unittest write about a case that they skip.
SKIPPED = re.compile(r"^\[  SKIPPED \] (\S+\.\S+)|^(\S.*) \.\.\. (skipped .*)$", re.MULTILINE)


def read(events):
    """Returns three things: the labels of tests that passed, the labels of tests that failed with the logs of their
    failed runs, and the labels of tests that were not built."""
    passed, failed, unbuilt = [], {}, []
    for event in events:
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


def skipped(events):
    """Returns what was skipped, and why if the test's log says so in the same line: LABEL: CASE REASON."""
    cases = set()
    for event in events:
        for output in event.get("testResult", {}).get("testActionOutput", []):
            if output["name"] == "test.log":
                log = pathlib.Path(output["uri"].removeprefix("file://")).read_text(errors="replace")
                label = event["id"]["testResult"]["label"]
                cases |= {f"{label}: {' '.join(filter(None, found.groups()))}" for found in SKIPPED.finditer(log)}
    return sorted(cases)


def main():
    events = [json.loads(line) for line in pathlib.Path(sys.argv[1]).read_text().splitlines()]
    passed, failed, unbuilt = read(events)
    for label, logs in failed.items():
        for log in logs:
            print(f"== {label} failed: {log}")
            print(pathlib.Path(log).read_text(errors="replace").rstrip())
    for case in skipped(events):
        print(f"   skipped: {case}")
    for label in failed:
        print(f"   failed: {label}")
    for label in unbuilt:
        print(f"   not built: {label}")
    print(f"{len(passed)} passed, {len(failed)} failed" + (f", {len(unbuilt)} not built" if unbuilt else ""))


main()
