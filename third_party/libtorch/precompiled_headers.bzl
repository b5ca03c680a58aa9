"""Headers that GCC parses only once for all files that depend on them (docs/decisions/0030)."""

# docs/decisions/0030 says why this way.
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

_ACTION = "c++-compile"

def _compile(ctx, toolchain, features, source, output, copts):
    context = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps]).compilation_context
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        source_file = source.path,
        output_file = output.path,
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + copts + [
            "-x",
            "c++-header",
            # Recorded in the output, as -fpch-deps needs it.
            "-MD",
            "-MF",
            "/dev/null",
        ],
        # fastbuild and dbg compile everything with PIC.
        use_pic = True,
        quote_include_directories = context.quote_includes,
        include_directories = context.includes,
        system_include_directories = context.system_includes,
        preprocessor_defines = context.defines,
    )
    ctx.actions.run(
        executable = cc_common.get_tool_for_action(feature_configuration = features, action_name = _ACTION),
        arguments = cc_common.get_memory_inefficient_command_line(
            feature_configuration = features,
            action_name = _ACTION,
            variables = variables,
        ),
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = _ACTION,
            variables = variables,
        ),
        inputs = depset([source], transitive = [context.headers, toolchain.all_files]),
        outputs = [output],
        mnemonic = "CppPrecompile",
        progress_message = "Precompiling the headers of %s (%s)" % (ctx.label, output.basename),
    )

def _precompiled_headers_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    if "clang" in toolchain.compiler_executable:
        # clang has no -fpch-deps.
        return [CcInfo()]
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    source = ctx.actions.declare_file(ctx.label.name + "_source.h")
    ctx.actions.write(source, "".join(["#include <%s>\n" % header for header in ctx.attr.headers]))

    # Files include an empty header. Instead of it, GCC takes the first file in the folder <NAME>.h.gch that was made
    # with the options and macros of the current compilation. If there is none, the empty header costs nothing.
    header = ctx.actions.declare_file(ctx.label.name + ".h")
    ctx.actions.write(header, "")
    precompiled = []
    for variant, copts in ctx.attr.variants.items():
        output = ctx.actions.declare_file("%s.h.gch/%s" % (ctx.label.name, variant))
        _compile(ctx, toolchain, features, source, output, copts)
        precompiled.append(output)

    # A dependency can add only macros and folders to the options of a compilation. So the option that includes the
    # header is in a file, which the compiler substitutes for the argument @FILE: `-isystem FOLDER -include HEADER`.
    # With -fpch-deps the compiler lists the same dependencies as a plain compilation. Without it, Bazel would miss a
    # change of a header.
    options = ctx.actions.declare_file(ctx.label.name + ".options")
    ctx.actions.write(options, "%s\n-include\n%s\n-fpch-deps\n" % (header.dirname, header.path))
    return [CcInfo(compilation_context = cc_common.create_compilation_context(
        headers = depset([source, header, options] + precompiled),
        system_includes = depset(["@" + options.path]),
    ))]

# A target that depends on this, directly or not, is compiled with the headers already parsed.
precompiled_headers = rule(
    implementation = _precompiled_headers_impl,
    attrs = {
        "headers": attr.string_list(mandatory = True, doc = "As they are written between the brackets of an #include."),
        "variants": attr.string_list_dict(
            mandatory = True,
            doc = "By name, the options that files are compiled with beyond those of the command line and .bazelrc.",
        ),
        "deps": attr.label_list(providers = [CcInfo], doc = "What provides the headers."),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
