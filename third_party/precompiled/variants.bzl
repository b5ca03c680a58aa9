"""What both sets of precompiled headers share."""

# How files are compiled, as GCC compares it with how a precompiled header was made.
# Tests are compiled with -O0, and all of our files with -Wvla (.bazelrc). Both change what macros GCC defines: with -Wvla
# there is no __cpp_runtime_arrays. The tests of this folder fail to compile without the precompiled headers.
VARIANTS = {
    "optimized": ["-Wvla"],
    "unoptimized": ["-Wvla", "-O0"],
}

TEST_HEADERS = [
    "gmock/gmock.h",
    "gtest/gtest.h",
]

# The headers of the standard library that most files include.
STANDARD_HEADERS = [
    "algorithm",
    "array",
    "atomic",
    "cerrno",
    "chrono",
    "cstdint",
    "cstdio",
    "cstdlib",
    "cstring",
    "deque",
    "exception",
    "filesystem",
    "fstream",
    "functional",
    "iostream",
    "iterator",
    "limits",
    "map",
    "memory",
    "mutex",
    "numeric",
    "optional",
    "ranges",
    "set",
    "sstream",
    "stdexcept",
    "string",
    "string_view",
    "thread",
    "tuple",
    "unordered_map",
    "utility",
    "variant",
    "vector",
]
