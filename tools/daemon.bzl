"""A binary that runs on any node: everything but glibc linked statically."""

def accel_daemon(name, linkopts = [], **kwargs):
    native.cc_binary(
        name = name,
        linkopts = linkopts + [
            "-static-libgcc",
            "-Wl,--gc-sections",
            # Bazel links through gcc and names -lstdc++ itself, at the end, where -static-libstdc++ does not reach:
            # with the whole archive in front that one is not needed any more. What nobody calls is collected.
            "-Wl,--whole-archive",
            "-l:libstdc++.a",
            "-Wl,--no-whole-archive",
            "-Wl,--as-needed",
        ],
        **kwargs
    )
