"""End-to-end tests: Python tests, with only the standard library, that run the real binaries."""

_BINARIES = [
    "//agent:accel-agent",
    "//shim:accel-shim",
    "//cli:accel",
    "//coordinator:accel-coordinator",
]

def e2e_test(name, timeout = "moderate", data = [], deps = [], tags = [], shard_count = None):
    """Declares the test in name.py. It runs outside the sandbox, because control groups are read-only inside."""
    native.py_test(
        name = name,
        srcs = [name + ".py"],
        data = _BINARIES + data,
        deps = ["//tests/e2e:cluster"] + deps,
        python_version = "PY3",
        size = "medium",
        timeout = timeout,
        local = True,
        tags = tags,
        shard_count = shard_count,
    )
