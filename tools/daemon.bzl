"""A binary that runs on any node: everything but glibc linked statically."""

def accel_daemon(name, linkopts = [], **kwargs):
    native.cc_binary(
        name = name,
        linkopts = linkopts + ["-static-libstdc++", "-static-libgcc", "-Wl,--gc-sections"],
        **kwargs
    )
