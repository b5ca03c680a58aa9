"""Compiles .proto files with the system's protoc and gRPC plugin."""

def accel_cc_proto_library(name, srcs, deps = [], grpc = False, **kwargs):
    """A cc_library of the messages in srcs (repo-root-relative imports), with gRPC services where grpc is true.

    Args:
      name: of the cc_library.
      srcs: .proto files of this package.
      deps: accel_cc_proto_library targets of imported files.
      grpc: whether the files define services; without it nothing here depends on gRPC. With it, name + "_messages"
        is the library of the messages alone, which does not depend on gRPC either.
      **kwargs: passed to the cc_library.
    """
    extensions = [".pb.h", ".pb.cc"] + ([".grpc.pb.h", ".grpc.pb.cc"] if grpc else [])
    outs = []
    for src in srcs:
        outs += [src[:-len(".proto")] + extension for extension in extensions]
    plugin = "--grpc_out=$(GENDIR) --plugin=protoc-gen-grpc=$$(command -v grpc_cpp_plugin) " if grpc else ""
    native.genrule(
        name = name + "_gen",
        srcs = srcs + [dep + "_protos" for dep in deps],
        outs = outs,
        # The headers count as system headers, because our warnings are only for our own files.
        cmd = "protoc -I. --cpp_out=$(GENDIR) " + plugin +
              " ".join(["$(location %s)" % src for src in srcs]) +
              " && sed -i '1i #pragma GCC system_header' " +
              " ".join(["$(location %s)" % out for out in outs if out.endswith(".h")]),
    )
    native.filegroup(name = name + "_protos", srcs = srcs + [dep + "_protos" for dep in deps])
    messages = [out for out in outs if ".grpc." not in out]
    native.cc_library(
        name = name + "_messages" if grpc else name,
        srcs = [out for out in messages if out.endswith(".cc")],
        hdrs = [out for out in messages if out.endswith(".h")],
        deps = deps + ["//third_party/system:protobuf"],
        **kwargs
    )
    if grpc:
        native.cc_library(
            name = name,
            srcs = [out for out in outs if out.endswith(".grpc.pb.cc")],
            hdrs = [out for out in outs if out.endswith(".grpc.pb.h")],
            deps = [":" + name + "_messages", "//third_party/system:grpc"],
            **kwargs
        )
