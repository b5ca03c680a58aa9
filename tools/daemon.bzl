"""A binary that runs on any node, because everything except glibc is linked statically."""

def accel_daemon(name, linkopts = [], deps = [], **kwargs):
    native.cc_binary(
        name = name,
        deps = deps + ["//common:monotonic_waits"],
        linkopts = linkopts + [
            "-static-libgcc",
            "-Wl,--gc-sections",
            # Bazel links with gcc and adds -lstdc++ itself at the end, where -static-libstdc++ has no effect.
            # The shared library is not needed if the whole archive is linked before it. --gc-sections removes
            # what is not called.
            "-Wl,--whole-archive",
            "-l:libstdc++.a",
            "-Wl,--no-whole-archive",
            "-Wl,--as-needed",
        ],
        **kwargs
    )
