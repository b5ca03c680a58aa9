import unittest

from tools.checks.missing_includes import faults
from tools.checks.tree import Tree


def found(text, **others):
    return faults(Tree({"a/x.cc": text, **{"a/" + name + ".h": header for name, header in others.items()}}))


class MissingIncludes(unittest.TestCase):
    def test_a_name_needs_its_header(self):
        for text, fault in (("std::vector<int> v;", "std::vector needs <vector>"),
                            ("auto a = std::move(b);", "std::move needs <utility>"),
                            ("#include <vector>\nstd::string s;", "std::string needs <string>"),
                            ("std::ranges::sort(v);", "std::sort needs <algorithm>"),
                            ("return errno;", "errno needs <cerrno>"),
                            ("absl::MutexLock lock(&m);", "absl::MutexLock needs <absl/synchronization/mutex.h>"),
                            ("EXPECT_EQ(1, 2);", "EXPECT_EQ needs <gtest/gtest.h>"),
                            ("#include <gtest/gtest.h>\nEXPECT_THAT(1, 2);", "EXPECT_THAT needs <gmock/gmock.h>")):
            line = 1 + text.count("\n")
            self.assertEqual(found(text), [f"a/x.cc:{line}: {fault}"])

    def test_each_header_is_told_once_for_a_file(self):
        self.assertEqual(found("std::sort(a);\nstd::find_if(b);"), ["a/x.cc:1: std::sort needs <algorithm>"])

    def test_our_own_headers_may_have_it(self):
        self.assertEqual(found('#include "a/y.h"\nstd::vector<int> v;', y='#include "a/z.h"', z="#include <vector>"), [])
        self.assertEqual(found('#include "a/y.h"\nstd::vector<int> v;', y="#include <string>"),
                         ["a/x.cc:2: std::vector needs <vector>"])

    def test_some_headers_have_the_names_of_others(self):
        self.assertEqual(found('#include "absl/status/statusor.h"\nabsl::Status s = absl::OkStatus();'), [])
        self.assertEqual(found("#include <string>\nstd::string_view s;"), [])
        self.assertEqual(found("#include <gmock/gmock.h>\nTEST(A, B) { EXPECT_EQ(1, 1); }"), [])

    def test_only_names_of_these_namespaces_count(self):
        self.assertEqual(found('// std::vector\nmine::vector v; void sort(); "std::map"; TEST = 1; std::unknown u;'), [])


if __name__ == "__main__":
    unittest.main()
