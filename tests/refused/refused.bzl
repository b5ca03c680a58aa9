"""Compiles a file that must not compile, and keeps what the compiler says."""

def _compiler_messages_impl(ctx):
    compilation = ctx.attr.dep[CcInfo].compilation_context
    arguments = ctx.actions.args()
    arguments.add(ctx.file.src)
    arguments.add_all(compilation.defines, before_each = "-D")
    arguments.add_all(compilation.quote_includes, before_each = "-iquote")
    arguments.add_all(compilation.includes, before_each = "-I")
    arguments.add_all(compilation.system_includes, before_each = "-isystem")
    messages = ctx.actions.declare_file(ctx.label.name + ".txt")
    ctx.actions.run_shell(
        inputs = depset([ctx.file.src], transitive = [compilation.headers]),
        outputs = [messages],
        arguments = [arguments],
        # The exit status is ignored, because a missing compiler fails too. The test
        # reads the messages.
        command = "g++ -std=c++20 -fsyntax-only -fmax-errors=0 -fdiagnostics-color=never \"$@\" >%s 2>&1 || true" %
                  messages.path,
        mnemonic = "CompilerMessages",
        progress_message = "Compiling %s for its errors" % ctx.file.src.short_path,
        use_default_shell_env = True,
    )
    return [DefaultInfo(files = depset([messages]), runfiles = ctx.runfiles([messages]))]

compiler_messages = rule(
    implementation = _compiler_messages_impl,
    attrs = {
        "src": attr.label(allow_single_file = [".cc"], mandatory = True),
        "dep": attr.label(providers = [CcInfo], mandatory = True),
    },
)
