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
            "-fplugin=" + ctx.file._plugin.path,
            # The compiler ignores pragmas that it does not know.
            "-Werror=unknown-pragmas",
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
        inputs = depset([source, ctx.file._plugin] + ctx.files._versions, transitive = [context.headers, toolchain.all_files]),
        outputs = [output],
        mnemonic = "CppPrecompile",
        progress_message = "Precompiling the headers of %s (%s)" % (ctx.label, output.basename),
    )

# The name of the header that all compilations include. Each target of this rule has a folder with one of this name.
_HEADER = "accel_precompiled.h"

# The compiler collects no garbage. It would look through all that it has loaded, to free little.
_NO_COLLECTION = ["--param", "ggc-min-heapsize=8388608"]

# The last line of what is precompiled. Without it, each file would instantiate thousands of templates again.
_INSTANTIATE = "#pragma accel instantiate_templates\n"

def _precompiled_headers_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    if "clang" in toolchain.compiler_executable or ctx.var["COMPILATION_MODE"] == "opt":
        # clang has no -fpch-deps, and `-c opt` compiles most files without PIC.
        return [CcInfo()]
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )

    # Files include an empty header. Instead of it, GCC takes the first file in the folder <NAME>.gch that was made with
    # the options and macros of the current compilation. If there is none, the empty header costs nothing.
    header = ctx.actions.declare_file("%s/%s" % (ctx.label.name, _HEADER))
    ctx.actions.write(header, "")
    files = [header]
    for variant, copts in ctx.attr.variants.items():
        source = ctx.actions.declare_file("%s/%s.h" % (ctx.label.name, variant))
        headers = ctx.attr.headers + ctx.attr.more_headers.get(variant, [])
        ctx.actions.write(source, "".join(["#include <%s>\n" % each for each in headers]) + _INSTANTIATE)
        precompiled = ctx.actions.declare_file("%s/%s.gch/%s" % (ctx.label.name, _HEADER, variant))
        _compile(ctx, toolchain, features, source, precompiled, copts)
        files += [source, precompiled]

    if not ctx.attr.is_last:
        # Found before the folder of the last one. That one tells the compiler to include the header.
        return [CcInfo(compilation_context = cc_common.create_compilation_context(
            headers = depset(files),
            system_includes = depset([header.dirname]),
        ))]

    # A dependency can add only macros and folders to the options of a compilation. So the option that includes the
    # header is in a file, which the compiler substitutes for the argument @FILE: `-isystem FOLDER -idirafter ...`.
    # FOLDER does not exist. With -fpch-deps the compiler lists the same dependencies as a plain compilation. Without
    # it, Bazel would miss a change of a header.
    options = ctx.actions.declare_file("%s/options" % ctx.label.name)
    lines = [header.dirname + "/none", "-idirafter", header.dirname, "-include", _HEADER, "-fpch-deps"] + _NO_COLLECTION
    ctx.actions.write(options, "\n".join(lines) + "\n")
    return [CcInfo(compilation_context = cc_common.create_compilation_context(
        headers = depset(files + [options]),
        system_includes = depset(["@" + options.path]),
    ))]

# A target that depends on this, directly or not, is compiled with the headers already parsed. GCC takes one precompiled
# header for a file. If a target depends on several, it is that of the one that is not the last.
precompiled_headers = rule(
    implementation = _precompiled_headers_impl,
    attrs = {
        "headers": attr.string_list(mandatory = True, doc = "As they are written between the brackets of an #include."),
        "variants": attr.string_list_dict(
            mandatory = True,
            doc = "By name, the options that files are compiled with beyond those of the command line and .bazelrc.",
        ),
        "more_headers": attr.string_list_dict(doc = "By name of a variant, what it has beside `headers`."),
        "is_last": attr.bool(doc = "One target is the last one. All others depend on it."),
        "deps": attr.label_list(providers = [CcInfo], doc = "What provides the headers."),
        "_plugin": attr.label(default = ":instantiate_templates.so", allow_single_file = True),
        "_versions": attr.label(default = "@system_packages//:versions", allow_single_file = True),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
