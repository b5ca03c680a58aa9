"""What the precompiled headers need of the system: the versions of its packages, and the headers of GCC's plugins."""

_PACKAGES = ["g++-12", "gcc-12-plugin-dev", "libabsl-dev", "libgmock-dev", "libgtest-dev", "libprotobuf-dev", "libstdc++-12-dev"]

_BUILD = """
package(default_visibility = ["//visibility:public"])

exports_files(["versions"])

cc_library(
    name = "gcc_plugin",
    hdrs = glob(["gcc_plugin/**"], allow_empty = True),
    includes = ["gcc_plugin"],
)
"""

def _system_packages_impl(ctx):
    # A package that is missing has an empty version here, and fails in the compilation. So do missing headers.
    found = ctx.execute(["dpkg-query", "--show"] + _PACKAGES)
    ctx.file("BUILD", _BUILD)
    ctx.file("versions", found.stdout)
    plugin = ctx.execute(["g++", "-print-file-name=plugin"]).stdout.strip()
    if plugin.startswith("/"):
        ctx.symlink(plugin + "/include", "gcc_plugin")

# Bazel does not look at headers below /usr, so a new version of a package must precompile its headers again.
system_packages = repository_rule(implementation = _system_packages_impl, local = True)
