"""The source of the system's gRPC, which tools/setup unpacks."""

# A filegroup, because what depends on a library of these headers would see them, too.
_BUILD = """
filegroup(
    name = "core",
    srcs = [
        "completion_queue.inc",
        "flow_control.inc",
    ] + glob([
        "src/core/ext/transport/chttp2/**/*.h",
        "src/core/lib/**/*.h",
    ]),
    visibility = ["//visibility:public"],
)
"""

# When a stream that is being read announces at once how much may be sent: flow_control.cc says why not earlier. The
# sender knows the size of the window that it has acknowledged, or already the next one.
_ALWAYS = "if (announced_window_delta_ < 0) {"
_AT_HALF = """if (announced_window_delta_ <=
          -std::min<int64_t>(tfc_->acked_init_window(), tfc_->sent_init_window()) / 2) {"""

def _replace_once(source, old, new):
    if source.count(old) != 1:
        fail("'%s' occurs %d times in gRPC's source, but once in version 1.51.1" % (old, source.count(old)))
    return source.replace(old, new)

def _grpc_source_repository_impl(ctx):
    folder = ctx.path(ctx.os.environ["HOME"] + "/.cache/accel/grpc-1.51.1/src")
    flow_control = ctx.path(str(folder) + "/core/ext/transport/chttp2/transport/flow_control.cc")
    if not flow_control.exists:
        fail("there is no %s: run tools/setup" % flow_control)
    ctx.symlink(folder, "src")
    # Bazel would compile a source with the name of one.
    ctx.symlink(str(folder) + "/core/lib/surface/completion_queue.cc", "completion_queue.inc")
    ctx.file("flow_control.inc", _replace_once(ctx.read(flow_control), _ALWAYS, _AT_HALF))
    ctx.file("BUILD", _BUILD)

grpc_source_repository = repository_rule(
    implementation = _grpc_source_repository_impl,
    environ = ["HOME"],
    local = True,
)
