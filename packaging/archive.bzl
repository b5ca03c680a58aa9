"""The C++ runtime for projects outside of this repository: one static library, its headers, and a CMake package
(docs/decisions/0060)."""

def _is_ours(label):
    return label.workspace_name == ""

def _runtime_archive_impl(ctx):
    linking = ctx.attr.runtime[CcInfo].linking_context
    libraries = []
    flags = []
    for part in linking.linker_inputs.to_list():
        # -l:NAME.a is an archive of Debian's development packages. It is left out, because the runtime uses only
        # headers of these packages, and a machine that links a program with the runtime may lack them.
        flags += [flag for flag in part.user_link_flags if flag.startswith("-l") and not flag.startswith("-l:")]
        if not _is_ours(part.owner):
            continue  # LibTorch is left out, because CMake finds it.
        libraries += [
            library.pic_static_library or library.static_library
            for library in part.libraries
            if library.pic_static_library or library.static_library
        ]
    headers = [
        header
        for header in ctx.attr.runtime[CcInfo].compilation_context.headers.to_list()
        if header.is_source and header.owner.workspace_name == "" and header.extension == "h" and
           not header.short_path.startswith("third_party/")
    ]
    script = ctx.actions.declare_file(ctx.label.name + ".mri")
    library = ctx.actions.declare_file(ctx.label.name + ".libaccel.a")
    ctx.actions.write(script, "\n".join(
        ["create " + library.path] + ["addlib " + file.path for file in libraries] + ["save", "end", ""],
    ))
    ctx.actions.run_shell(
        inputs = libraries + [script],
        outputs = [library],
        command = "ar -M <{} && ranlib -D {}".format(script.path, library.path),
        mnemonic = "MergeArchives",
    )
    listed = ctx.actions.declare_file(ctx.label.name + ".headers")
    ctx.actions.write(listed, "".join([header.path + "\n" for header in headers]))
    system = [flag[2:] for flag in depset(flags).to_list() if not flag.startswith("-ltorch") and flag != "-lc10"]
    out = ctx.outputs.out
    ctx.actions.run(
        executable = ctx.executable._pack,
        arguments = [out.path, library.path, listed.path, ctx.file.config.path, ctx.file.version.path, ctx.file.license.path] + system,
        inputs = headers + [library, listed, ctx.file.config, ctx.file.version, ctx.file.license],
        outputs = [out],
        mnemonic = "PackRuntime",
    )
    return [DefaultInfo(files = depset([out]), runfiles = ctx.runfiles(files = [out]))]

runtime_archive = rule(
    implementation = _runtime_archive_impl,
    attrs = {
        "config": attr.label(allow_single_file = True, doc = "Template of accel-config.cmake."),
        "license": attr.label(allow_single_file = True),
        "out": attr.output(),
        "runtime": attr.label(providers = [CcInfo]),
        "version": attr.label(allow_single_file = True, doc = "The header with the version."),
        "_pack": attr.label(default = ":make_runtime_archive", executable = True, cfg = "host"),
    },
)
