"""The versions of the system's packages, so that a new one precompiles its headers again."""

_PACKAGES = ["libabsl-dev", "libgmock-dev", "libgtest-dev", "libprotobuf-dev", "libstdc++-12-dev"]

def _system_packages_impl(ctx):
    # A package that is missing has an empty version here, and fails in the compilation.
    found = ctx.execute(["dpkg-query", "--show"] + _PACKAGES)
    ctx.file("BUILD", 'exports_files(["versions"])\n')
    ctx.file("versions", found.stdout)

# Bazel does not look at headers below /usr.
system_packages = repository_rule(implementation = _system_packages_impl, local = True)
