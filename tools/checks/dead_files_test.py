import unittest

from tools.checks.dead_files import faults
from tools.checks.tree import Tree

_LIBRARY = 'cc_library(name = "x", srcs = ["x.cc"], hdrs = ["x.h"])\ncc_test(name = "x_test", srcs = ["x_test.cc"])\n'


class DeadFiles(unittest.TestCase):
    def test_a_header_of_its_own_source_and_test_only(self):
        files = {"a/BUILD.bazel": _LIBRARY, "a/x.h": "", "a/x.cc": '#include "a/x.h"', "a/x_test.cc": '#include "a/x.h"'}
        self.assertEqual(faults(Tree(files)), ["a/x.h: nothing includes it, tests aside"])
        used = 'cc_binary(name = "main", srcs = ["main.cc"])'
        self.assertEqual(faults(Tree({**files, "b/BUILD.bazel": used, "b/main.cc": '#include "a/x.h"'})), [])

    def test_public_headers_are_for_users(self):
        public = _LIBRARY.replace('hdrs =', 'visibility = ["//visibility:public"], hdrs =')
        self.assertEqual(faults(Tree({"a/BUILD.bazel": public, "a/x.h": "", "a/x.cc": "", "a/x_test.cc": ""})), [])

        self.assertEqual(faults(Tree({"accel/BUILD.bazel": _LIBRARY, "accel/x.h": "", "accel/x.cc": "", "accel/x_test.cc": ""})), [])

    def test_a_program_uses_its_own_header(self):
        self.assertEqual(faults(Tree({"a/BUILD.bazel": 'cc_binary(name = "p", srcs = ["p.cc", "p.h"])',
                                      "a/p.h": "", "a/p.cc": '#include "a/p.h"'})), [])

    def test_a_header_for_tests_is_used_by_tests(self):
        build = 'cc_library(name = "f", testonly = True, hdrs = ["f.h"])\ncc_test(name = "x_test", srcs = ["x_test.cc"])'
        files = {"a/BUILD.bazel": build, "a/f.h": "", "a/x_test.cc": '#include "a/f.h"'}
        self.assertEqual(faults(Tree(files)), [])
        self.assertEqual(faults(Tree({**files, "a/x_test.cc": ""})), ["a/f.h: nothing includes it"])

    def test_a_source_in_no_target(self):
        self.assertEqual(faults(Tree({"a/BUILD.bazel": _LIBRARY, "a/x_test.cc": "", "a/y.cc": ""})), ["a/y.cc: in no target"])
        self.assertEqual(faults(Tree({"a/BUILD.bazel": '[cc_test(name = n, srcs = [n + ".cc"]) for n in ["y"]]', "a/y.cc": ""})), [])


if __name__ == "__main__":
    unittest.main()
