"""Fuzz targets: one function in NAME.cc, as a test with fixed inputs and as a program of libFuzzer."""

def fuzz_target(name, deps, runs):
    """Declares NAME_test, which is run by every CI, and NAME_fuzzer, which tools/fuzz builds with clang.

    `runs` is the number of variants that the test tries, so that it takes about a second. The inputs are the
    files in corpus/NAME.
    """
    native.cc_test(
        name = name + "_test",
        size = "small",
        srcs = [name + ".cc"],
        args = [
            name,
            "tests/fuzz/corpus/" + name,
            str(runs),
        ],
        data = native.glob(["corpus/%s/*" % name]),
        deps = deps + [
            ":replay",
            ":target",
        ],
    )
    native.cc_binary(
        name = name + "_fuzzer",
        testonly = True,
        srcs = [name + ".cc"],
        linkopts = ["-fsanitize=fuzzer"],
        # gcc has no libFuzzer.
        tags = ["manual"],
        deps = deps + [":target"],
    )
